"""The words of the chain and of this program, which `chainq help` and docs/reference.md explain."""

TERMS = {
    "address": (
        "addresses account accounts",
        "The public name of an account (aleo1...). chainq show ADDRESS shows its newest public transactions, and "
        "chainq address-transactions ADDRESS lists all. Its records need its view key: see chainq help owned.",
    ),
    "authority": (
        "authorities quorum beacon subdag",
        "What shows that the validators agreed on a block: the certificates of a quorum of them (the subdag). A test "
        "network may have a beacon, a single signer, instead. See chainq help full-blocks.",
    ),
    "puzzle": (
        "puzzles solution solutions target targets difficulty prover provers",
        "Provers compute solutions of a puzzle for a reward, the coinbase reward. Each solution must reach the proof "
        "target, and the coinbase target is the difficulty for all of them together. chainq blocks --columns "
        "height,coinbase_target,proof_target prints the targets. See chainq help reward.",
    ),
    "state-root": (
        "root roots merkle-root",
        "A hash of all blocks up to one of them, with which a proof can show that it refers to this chain. Each "
        "block has that of the blocks before it, previous_state_root. Other roots are hashes of a part of a block. See "
        "chainq help blocks.",
    ),
    "execution": (
        "executions execute executes executed",
        "A transaction that calls functions of programs. Each call is a transition, and one more transition pays the "
        "fee. See chainq help transition.",
    ),
    "deployment": (
        "deployments deploy deployed",
        "A transaction that adds a program to the chain. chainq full-blocks --where 'transactions[].type = deploy' "
        "prints the blocks that contain one. See chainq help full-blocks.",
    ),
    "mapping": (
        "mappings",
        "Public values that a program keeps by key, such as the balances in account of credits.aleo. The table "
        "finalize of an export lists their changes as hashes; chainq does not read the values. See chainq help tables.",
    ),
    "finalize": (
        "",
        "The part of a call that the validators run: it changes mappings. See chainq help mapping.",
    ),
    "record": (
        "ciphertext ciphertexts",
        "A private value, such as an amount of credits, encrypted for its owner: its ciphertext (record1...) is "
        "public. A transition makes it as an output, and a later one spends it as an input. chainq owned --decrypt "
        "decrypts your own. See chainq help records.",
    ),
    "nonce": (
        "nonces",
        "A public group element of a record, different for each. With it, the view key of the owner decrypts the "
        "record; ownership rows contain its x-coordinate, nonce_x. See chainq help ownership.",
    ),
    "transition": (
        "",
        "One call of a function of a program, with its inputs and outputs. A transaction consists of transitions; one "
        "of them pays its fee. See chainq help transitions.",
    ),
    "inputs": (
        "outputs transition-input transition-output transaction-input transaction-output",
        "What the call of a function takes and returns: public and private values, records and futures. chainq show ID "
        "prints those of a transaction, and the tables inputs and outputs of an export have a row for each. See chainq "
        "help private, and chainq help tables.",
    ),
    "future": (
        "futures",
        "An output that tells the validators what to run after a call: a program, a function and its public "
        "arguments. See chainq help finalize.",
    ),
    "private": (
        "public ciphertext1",
        "A public input or output is plain text. A private one is encrypted: its ciphertext (ciphertext1...) is "
        "public, and the view key of the account that signed the transaction decrypts it. chainq decrypts records "
        "only. See chainq help record.",
    ),
    "fee-public": (
        "fee-private",
        "The functions of credits.aleo that pay the fee of a transaction: fee_public from the public balance of an "
        "account, fee_private with a record. See chainq help fees.",
    ),
    "zk-proof": (
        "zkp snark zero-knowledge proof1",
        "What shows the validators that the calls of a transaction follow their programs, without the private "
        "values (proof1...). chainq does not check it. See chainq help execution.",
    ),
    "tpk": (
        "tcm scm",
        "Values of each transition. From tpk, its public key, the view key of the signer computes a secret that "
        "decrypts private inputs and outputs. tcm is a hash of this secret. scm is a hash that stands for the signer "
        "and does not show the address.",
    ),
    "field": (
        "field-element group-element scalar",
        "Of a row: a column, see chainq help columns. As the type of a value: a number modulo a large prime, such as a "
        "hash or an ID (5field). A group is a point on an elliptic curve, written as its x-coordinate (5group).",
    ),
    "prefix": (
        "prefixes ab1 at1 au1 sr1 aleo1 record1 bech32",
        "The beginning of an ID says what it is: ab1 a block, at1 a transaction, au1 a transition, sr1 a state root, "
        "aleo1 an address, record1 a record, ciphertext1 a private value, proof1 a proof. chainq show ID looks up "
        "most of these.",
    ),
    "view-key": (
        "view-keys viewkey",
        "The key of an account that decrypts its records and cannot spend them (AViewKey1...). chainq uses it on "
        "your machine only. See chainq help wallet, also for a published test key.",
    ),
    "ownership-row": (
        "ownership-rows",
        "What a view key needs to recognize a record as its own, without the record itself: the nonce, the encrypted "
        "owner and the position of the output. See chainq help ownership.",
    ),
    "tip": ("", "The newest block of the chain. A range without an end ends with it. See chainq help range."),
    "reorg": (
        "reorgs reorganization fork forks rollback finality confirmations",
        "A reorganization: other blocks replace the newest blocks of the chain. If a run with --checkpoint has read "
        "the replaced blocks, chainq exits with code 9. --rewind N reads the last N blocks again. See chainq help "
        "resume.",
    ),
    "dialect": (
        "dialects",
        "The names of methods and parameters that a server expects: chain is the published interface, and aleo that "
        "of deployed open-source servers. See chainq help doctor.",
    ),
    "lake": (
        "data-lake data-set dataset",
        "An export that chainq reads in place of the service, or in front of it: the Parquet files of a chain in a "
        "folder or a bucket, with proofs that they are complete. See chainq help export.",
    ),
    "partition": (
        "partitions grid",
        "One file of a table of an export. It covers --partition heights, and begins at a multiple of that number. See "
        "chainq help export.",
    ),
    "tag": (
        "",
        "What an input that spends a record reveals of it: a hash that the view key of the owner can compute too. "
        "chainq owned --spent finds spent records by it. See chainq help owned.",
    ),
    "serial-number": (
        "",
        "The ID of an input that spends a record. No record is spent twice, as its serial number would be there twice. "
        "Only the private key of the owner can compute it.",
    ),
    "commitment": (
        "",
        "A hash that stands for a record and does not show its contents: the ID of the output that makes the record.",
    ),
    "accepted": (
        "rejected aborted",
        "The status of a transaction. Rejected: only its fee counts, not its calls. An aborted one changes "
        "nothing and pays nothing; full blocks list its ID in aborted_transaction_ids. See chainq help transactions.",
    ),
    "receipt": (
        "receipts",
        "What an export keeps of each partition: its heights, rows and hashes, and the proof that no row is missing. "
        "It is in the Parquet file and in the folder _chainq. See chainq help export.",
    ),
    "manifest": (
        "",
        "The file _chainq/manifest.json of an export, which lists the partitions of each table. See chainq help "
        "export.",
    ),
    "finding": (
        "findings",
        "A row of chainq verify: a row that is wrong, or a file. Its check names the broken rule, and its repair the "
        "command that fetches the row again. See chainq help verify.",
    ),
    "settled": (
        "settle late late-rows",
        "Rows of a height to which a service adds none any more: a second read, at least 10 blocks later, returned "
        "the same. With --checkpoint, chainq requests newer heights again and writes late rows. See chainq help "
        "checkpoint.",
    ),
    "height": (
        "heights block-number block-height",
        "The number of a block, from 0. chainq latest --columns height --text prints that of the newest block. "
        "--start, --end and --last select heights. See chainq help range.",
    ),
}
"""The words of the chain and of this program: also those for each, and what it means."""
