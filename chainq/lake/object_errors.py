"""Errors of object stores in plain words. obstore's own texts are dumps of its objects, several screens long."""

import os
import re

from chainq.text.sanitize import excerpt

_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to a key file",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_CAUSES = (
    # Without keys obstore requests the machine's role from an address that exists only on cloud machines.
    (r"/latest/api/token|/latest/meta-data|computeMetadata|/metadata/identity", "no credentials", "CREDENTIALS"),
    (r"Account must be specified", "no storage account", "CREDENTIALS"),
    (r"NoSuchBucket|ContainerNotFound|bucket does not exist", "the bucket does not exist", ""),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|401 Unauthorized|valid auth", "the credentials are not valid", ""),
    (r"ExpiredToken|TokenRefreshRequired", "the session token has expired", ""),
    (r"403 Forbidden", "access denied", ""),
    (r"BadScheme", "its endpoint is http:// and AWS_ALLOW_HTTP forbids that", "unset AWS_ALLOW_HTTP"),
    (r"ConnectionRefused", "connection refused", "ENDPOINT"),
    (r"dns error", "unknown host", "ENDPOINT"),
    (r"configured region", "the bucket is in another region", "set AWS_REGION to that one"),
)
_STATUS = re.compile(r"status code: ([0-9]{3}[A-Za-z ]*)")
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")  # of S3, which has one status for many errors
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def endpoint() -> str:
    """Return the S3 endpoint from the environment, empty for AWS."""
    return next((value for name in _ENDPOINTS if (value := os.environ.get(name))), "")


def cause(error: Exception, scheme: str) -> tuple[str, str]:
    """Return what went wrong and what to do about it, empty if unknown. `scheme`: s3, gs or az."""
    said = str(error)
    for pattern, words, advice in _CAUSES:
        if re.search(pattern, said):
            if advice == "ENDPOINT":
                advice = f"the endpoint is {endpoint()}" if scheme == "s3" and endpoint() else ""
            return words, _CREDENTIALS[scheme] if advice == "CREDENTIALS" else advice
    if status := _STATUS.search(said):
        code = _CODE.search(said)
        return f"HTTP {status[1].rstrip()}{f' ({code[1]})' if code else ''}", ""
    return excerpt(" ".join(said.partition("Debug source:")[0].split()), 200), ""
