"""The place of `process.threads` until `verify` imports it from there."""

from chainq.process.threads import in_order as in_order
