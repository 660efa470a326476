/* A stand-in for the service that is never the limit: it answers from memory, a thread for each connection.

   POST /?latency=MS&gzip&log with one JSON-RPC call. It knows records/all, getBlocks, getChainBlocks, block and
   latest/block, and takes what it needs out of the body without parsing it, since whoever calls is known. Heights run
   from LEAST to NEWEST, so that every number has the same width and every row of a method the same length: an answer
   is copies of a few templates with numbers and hashes written over.

   Prints its port, then the body of each call to a URL with &log, and runs until its standard input is closed. */

#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

enum { LEAST = 1000000, NEWEST = 4999999, PER_HEIGHT = 20, VARIANTS = 16, MOST_PLACES = 64 };
enum { REQUEST = 1 << 14, PIECE = 1 << 18 };
typedef enum { RECORDS, BLOCKS, FULL, METHODS } Method;

/* In a pattern ' is a quotation mark, *N; are N characters that look like a hash, ~N; likewise, the same for the same
   record of a height, @ is the height, ^ the one before, # the record's id: full blocks hold the records that are
   listed, since chainq compares them. */
#define OWN "'block_hash':'ab1@qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq',"
#define PREVIOUS "'previous_hash':'ab1^qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq',"
static const char *patterns[METHODS] = {
    "{'record_ciphertext':'record1#*265;','program_id':'credits.aleo','block_id':@,'height':@,'id':#,"
    "'timestamp':'1717000000'," OWN "'transition_id':'au1#~50;','transaction_id':'at1#~50;',"
    "'function_name':'transfer_private','output_index':0}",
    "{'id':@,'height':'@'," OWN PREVIOUS
    "'previous_state_root':'sr1*58;','transactions_root':'*75;field','round':'5517034','coinbase_target':'284720471',"
    "'proof_target':'71180118','last_coinbase_target':'284720471','last_coinbase_timestamp':'1717000000',"
    "'timestamp':'1717000003','coinbase_reward':'31960000','finalize_root':'*75;field','network':1,"
    "'ratifications_root':'*75;field','solutions_root':'*75;field','subdag_root':'*75;field',"
    "'cumulative_weight':'18741903340503531150','cumulative_proof_target':'23409109102301'}",
    "{" OWN PREVIOUS
    "'header':{'previous_state_root':'sr1*58;','transactions_root':'*75;field','metadata':{'network':1,"
    "'round':5517034,'height':@,'coinbase_target':284720471,'timestamp':1717000003}},'authority':{'type':'quorum',"
    "'subdag':{'subdag':{'5517034':[]},'election_certificate_ids':['*75;field']}},"
    "'ratifications':[{'type':'block_reward','amount':31960000}],'transactions':[+{'status':'accepted',"
    "'type':'execute','index':0,'transaction':{'type':'execute','id':'at1#~50;','execution':{'transitions':"
    "[{'id':'au1#~50;','program':'credits.aleo','function':'transfer_private','inputs':[{'type':'record',"
    "'id':'*75;field','tag':'*75;field'}],'outputs':[{'type':'record','id':'*75;field','value':'record1*203;'}],"
    "'tpk':'*75;group','tcm':'*75;field'}],'global_state_root':'sr1*58;','proof':'proof1*4200;'}}}"
    "+],'aborted_transaction_ids':[]}",
};
enum { REPEATED = PER_HEIGHT }; /* so often stands what is between two + */

typedef struct {
    int at;
    char kind;
    int round;
} Place;

typedef struct {
    int rows, row_length, length, places; /* rows of one height; length of those with the commas between them */
    Place place[MOST_PLACES];
    char *text[VARIANTS];
    unsigned char **packed; /* by height, made when first asked for: a Packed and the deflated bytes */
    uLong combine;          /* zlib's operator for a CRC over `length` bytes more */
} Unit;

typedef struct {
    uLong crc;
    int length;
    unsigned char bytes[];
} Packed;

static Unit units[METHODS];
static uLong combine_one;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Rows */

static int expand(char *out, const char *pattern, Unit *unit, int row)
{
    static const char bech32[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    static unsigned seed = 1;
    const char *again = NULL;
    int round = 0, at = 0;
    unit->places = 0;
    for (const char *p = pattern; *p; p++) {
        if (*p == '\'') {
            out[at++] = '"';
        } else if (*p == '*') {
            for (long n = strtol(p + 1, (char **)&p, 10); n > 0; n--) {
                seed = seed * 1664525u + 1013904223u;
                out[at++] = bech32[seed >> 27];
            }
        } else if (*p == '~') {
            unsigned own = row + round + 1;
            for (long n = strtol(p + 1, (char **)&p, 10); n > 0; n--) {
                own = own * 1664525u + 1013904223u;
                out[at++] = bech32[own >> 27];
            }
        } else if (*p == '+' && !again) {
            again = p;
        } else if (*p == '+' && ++round < REPEATED) {
            p = again;
            out[at++] = ',';
        } else if (*p == '+') {
            again = NULL;
        } else if (*p == '@' || *p == '^' || *p == '#') {
            unit->place[unit->places++] = (Place){at, *p, round};
            at += *p == '#' ? 8 : 7;
        } else {
            out[at++] = *p;
        }
    }
    return at;
}

static void make(Method method, int rows)
{
    Unit *unit = &units[method];
    unit->rows = rows;
    for (int i = 0; i < VARIANTS; i++) {
        char *text = unit->text[i] = malloc(1 << 20);
        for (int row = 0; row < rows; row++) {
            unit->row_length = expand(text + row * (unit->row_length + 1), patterns[method], unit, row);
            text[row * (unit->row_length + 1) + unit->row_length] = ',';
        }
    }
    unit->length = rows * (unit->row_length + 1) - 1;
    unit->packed = calloc(NEWEST + 1 - LEAST, sizeof *unit->packed);
    unit->combine = crc32_combine_gen(unit->length);
}

static void number(char *at, int value, int digits)
{
    while (digits--) {
        at[digits] = '0' + value % 10;
        value /= 10;
    }
}

static void render(const Unit *unit, int height, char *out)
{
    memcpy(out, unit->text[height % VARIANTS], unit->length);
    for (int row = 0; row < unit->rows; row++, out += unit->row_length + 1)
        for (int i = 0; i < unit->places; i++) {
            const Place *place = &unit->place[i];
            if (place->kind == '#')
                number(out + place->at, height * PER_HEIGHT + row + place->round, 8);
            else
                number(out + place->at, height - (place->kind == '^'), 7);
        }
}

/* The rows of a height, deflated on their own and flushed to a whole byte, so that any range can be put together. */
static const Packed *packed(Unit *unit, int height)
{
    unsigned char **slot = &unit->packed[height - LEAST];
    unsigned char *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (found)
        return (const Packed *)found;
    char *plain = malloc(unit->length);
    Packed *made = malloc(sizeof *made + unit->length + 4096);
    z_stream z = {0};
    render(unit, height, plain);
    if (!plain || !made || deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        fail("deflate");
    z.next_in = (Bytef *)plain, z.avail_in = unit->length;
    z.next_out = made->bytes, z.avail_out = unit->length + 4096;
    deflate(&z, Z_FULL_FLUSH);
    made->length = unit->length + 4096 - z.avail_out;
    made->crc = crc32(0, (Bytef *)plain, unit->length);
    deflateEnd(&z);
    free(plain);
    made = realloc(made, sizeof *made + made->length);
    __atomic_store_n(slot, (unsigned char *)made, __ATOMIC_RELEASE); /* two threads may have made it: the second stays */
    return made;
}

/* Answers */

typedef struct {
    int socket, used, broken;
    char *piece;
} Out;

static void flush(Out *out)
{
    for (int at = 0; at < out->used && !out->broken;) {
        ssize_t count = send(out->socket, out->piece + at, out->used - at, MSG_NOSIGNAL);
        if (count <= 0)
            out->broken = 1;
        else
            at += count;
    }
    out->used = 0;
}

static char *room(Out *out, int length)
{
    if (out->used + length > PIECE)
        flush(out);
    out->used += length;
    return out->piece + out->used - length;
}

static void put(Out *out, const void *bytes, int length)
{
    memcpy(room(out, length), bytes, length);
}

static void head(Out *out, long length, int gzip)
{
    char text[200];
    put(out, text, sprintf(text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %ld\r\n\r\n",
                           gzip ? "Content-Encoding: gzip\r\n" : "", length));
}

/* `length` bytes as a deflate block that is stored as it is. */
static void stored(Out *out, const char *bytes, int length, int last)
{
    unsigned char start[5] = {last, length, length >> 8, ~length, ~length >> 8};
    put(out, start, 5);
    put(out, bytes, length);
}

static void answer_packed(Out *out, Unit *unit, int start, int end, const char *opening)
{
    int opened = strlen(opening);
    uLong crc = crc32(0, (const Bytef *)opening, opened), comma = crc32(0, (const Bytef *)",", 1);
    long length = 10 + (5 + opened) + 6L * (end - start - 1) + (5 + 2) + 8;
    for (int height = start; height < end; height++) {
        const Packed *part = packed(unit, height);
        length += part->length;
        if (height > start)
            crc = crc32_combine_op(crc, comma, combine_one);
        crc = crc32_combine_op(crc, part->crc, unit->combine);
    }
    crc = crc32(crc, (const Bytef *)"]}", 2);
    unsigned size = opened + (unit->length + 1) * (end - start) - 1 + 2;
    unsigned char tail[8] = {crc, crc >> 8, crc >> 16, crc >> 24, size, size >> 8, size >> 16, size >> 24};
    head(out, length, 1);
    put(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    stored(out, opening, opened, 0);
    for (int height = start; height < end; height++) {
        const Packed *part = packed(unit, height);
        if (height > start)
            stored(out, ",", 1, 0);
        put(out, part->bytes, part->length);
    }
    stored(out, "]}", 2, 1);
    put(out, tail, 8);
}

/* The rows from place `first` to `last` of those in a range. */
static void answer_plain(Out *out, Unit *unit, int start, long first, long last, const char *opening)
{
    int row = unit->row_length + 1;
    char *rows = malloc(unit->length + 1);
    head(out, strlen(opening) + (last > first ? (last - first) * row - 1 : 0) + 2, 0);
    put(out, opening, strlen(opening));
    for (long at = first; at < last && !out->broken;) {
        int from = at % unit->rows, to = unit->rows;
        if (last - at < to - from)
            to = from + last - at;
        if (from || to < unit->rows) {
            render(unit, start + at / unit->rows, rows);
            put(out, rows + from * row, (to - from) * row - 1);
        } else {
            render(unit, start + at / unit->rows, room(out, unit->length));
        }
        at += to - from;
        if (at < last)
            put(out, ",", 1);
    }
    free(rows);
    put(out, "]}", 2);
}

static long argument(const char *body, const char *name, long otherwise)
{
    const char *found = strstr(body, name);
    return found ? strtol(found + strlen(name), NULL, 10) : otherwise;
}

/* Where the query begins that holds `word`; the target ends where the request's first line does. */
static const char *query(const char *target, const char *word)
{
    const char *found = strstr(target, word);
    return found && found < strchr(target, '\r') ? found + strlen(word) : NULL;
}

static void answer(Out *out, const char *target, const char *body)
{
    const char *latency = query(target, "latency=");
    if (latency)
        usleep(1000 * atoi(latency));
    if (query(target, "&log"))
        printf("%s\n", body), fflush(stdout);
    char opening[80];
    int opened = sprintf(opening, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", argument(body, "\"id\":", 1));
    if (strstr(body, "\"latest/block\"")) {
        head(out, opened + units[BLOCKS].length + 1, 0);
        put(out, opening, opened);
        render(&units[BLOCKS], NEWEST, room(out, units[BLOCKS].length));
        put(out, "}", 1);
        return;
    }
    strcat(opening, "[");
    Unit *unit = &units[strstr(body, "\"records/all\"") ? RECORDS : strstr(body, "\"getChainBlocks\"") ? FULL : BLOCKS];
    long block = argument(body, "\"block\":", -1);
    long start = argument(body, "\"start\":", block), end = argument(body, "\"end\":", start + 1);
    start = start < LEAST ? LEAST : start, end = end > NEWEST + 1 ? NEWEST + 1 : end;
    long rows = end > start ? (end - start) * unit->rows : 0;
    long size = argument(body, "\"recordsPerRequest\":", rows), first = argument(body, "\"page\":", 0) * size;
    long last = first + size < rows ? first + size : rows;
    if (!query(target, "&gzip") || first || last < rows || !rows)
        answer_plain(out, unit, start, first, last, opening);
    else
        answer_packed(out, unit, start, end, opening);
}

static void *serve(void *given)
{
    Out out = {(int)(long)given, 0, 0, malloc(PIECE)};
    char *in = malloc(REQUEST + 1);
    int have = 0, on = 1;
    setsockopt(out.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (!out.broken) {
        in[have] = 0;
        char *body = strstr(in, "\r\n\r\n"), *length = strcasestr(in, "content-length:");
        int whole = body && length ? body + 4 - in + atoi(length + 15) : REQUEST + 1;
        if (have >= whole) {
            char kept = in[whole];
            in[whole] = 0;
            answer(&out, in, body + 4);
            flush(&out);
            in[whole] = kept;
            have -= whole;
            memmove(in, in + whole, have);
            continue;
        }
        ssize_t count = recv(out.socket, in + have, REQUEST - have, 0);
        if (count <= 0)
            break;
        have += count;
    }
    close(out.socket);
    free(out.piece);
    free(in);
    return NULL;
}

static void *accepting(void *given)
{
    for (;;) {
        pthread_t thread;
        long socket = accept((int)(long)given, NULL, NULL);
        if (socket < 0 || pthread_create(&thread, NULL, serve, (void *)socket))
            fail("accept");
        pthread_detach(thread);
    }
    return NULL;
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    make(RECORDS, PER_HEIGHT);
    make(BLOCKS, 1);
    make(FULL, 1);
    combine_one = crc32_combine_gen(1);
    if (bind(listening, (void *)&address, length) || listen(listening, 64) ||
        getsockname(listening, (void *)&address, &length) ||
        pthread_create(&thread, NULL, accepting, (void *)(long)listening))
        fail("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (getchar() != EOF) /* whoever started it holds the other end */
        ;
    return 0;
}
