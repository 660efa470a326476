"""The place of `heights.grid` until `verify` imports it from there."""

from chainq.heights.grid import PartitionSpec as PartitionSpec
from chainq.heights.grid import parse_name as parse_name
from chainq.heights.grid import partition_name as partition_name
from chainq.heights.grid import partitions as partitions
