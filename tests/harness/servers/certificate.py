"""A server's side of TLS, with a certificate for 127.0.0.1 that is its own authority."""

import ssl
from pathlib import Path

# Of no use but here: it vouches for 127.0.0.1, for a hundred years. Made with
#   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=chainq tests"
#     -addext subjectAltName=IP:127.0.0.1 -addext keyUsage=critical,digitalSignature,keyCertSign
_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBpjCCAUygAwIBAgIUFc2q6g4k67+8IJIQC2MfIWtjahUwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMY2hhaW5xIHRlc3RzMCAXDTI2MTEyMTA5MDE1NFoYDzIxMjYx
MDI4MDkwMTU0WjAXMRUwEwYDVQQDDAxjaGFpbnEgdGVzdHMwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAARG4ptBFFRY+MDy42UCxubLc2u8u7pInWJP5L1xHqvUfo9l
amF7P+TSaiW5vFPI9XoMkIzE1vW8Q+H9fgsgUv45o3QwcjAdBgNVHQ4EFgQUkX3u
NerDPP9IGMs+J289ufbyp1cwHwYDVR0jBBgwFoAUkX3uNerDPP9IGMs+J289ufby
p1cwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMA4GA1UdDwEB/wQE
AwIChDAKBggqhkjOPQQDAgNIADBFAiEAwzF/9TD14mOJySqkhTyAdOyJ8tPsJiCx
az22lALd/S8CIChReXlXeyn39J6/IuMYKA2wEuwB6ckHL7JtKg1derLs
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIH7IGOqZq+xIo2YIIXiSA/e6Qitk35lPSPxbNhVfiHveoAoGCCqGSM49
AwEHoUQDQgAERuKbQRRUWPjA8uNlAsbmy3NrvLu6SJ1iT+S9cR6r1H6PZWphez/k
0molubxTyPV6DJCMxNb1vEPh/X4LIFL+OQ==
-----END EC PRIVATE KEY-----
"""


def certified(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server on 127.0.0.1 needs for TLS, and the file of the authority that vouches for it, in the folder."""
    authority, key = folder / "authority.pem", folder / "key.pem"
    authority.write_text(_CERTIFICATE)
    key.write_text(_KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, key)
    return context, authority
