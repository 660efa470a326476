"""What the tests share: the installed program, the rows that are due, servers and services in this process."""
