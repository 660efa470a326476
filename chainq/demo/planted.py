"""Records of the sample chain that a published test key owns, so that `chainq owned` finds something.

All other rows of the chain are computed from their height; these are real ciphertexts, made once with
`chainq.wallet.sample`, so that the chain needs no cryptography of its own. The key is an example of the SDK's
documentation: anyone can read what it owns.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chainq.demo.layout import Layout

VIEW_KEY = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"
"""The published test key."""

ADDRESS = "aleo1j7qxyunfldj2lp8hsvy7mw5k8zaqgjfyr72x2gh3x4ewgae8v5gscf5jh3"
"""Its address."""

SPACING = 29
"""Record k (from 1) is planted at the first suitable place from height SPACING * k² on: dense at first, then sparse."""


class Planted(NamedTuple):
    """One planted record: its ciphertext and its ownership row. Empty nonces: its owner is public."""

    record_ciphertext: str
    nonce_x: str
    nonce_y: str
    owner_x: str


def places(layout: Layout, planted: Sequence[Planted]) -> dict[int, Planted]:
    """Return where records are planted: the number of the record that each one replaces.

    They are records of credits.aleo; those with a public owner take the place of one that has a public owner too.
    """
    found: dict[int, Planted] = {}
    for k, record in enumerate(planted, 1):
        height = SPACING * k * k
        while not (free := _suitable(layout, height, public=not record.nonce_x) - found.keys()):
            height += 1
        found[min(free)] = record
    return found


def _suitable(layout: Layout, height: int, *, public: bool) -> set[int]:
    """Return the numbers of the records of a block that a planted one can replace."""
    first = layout.records.before(height)
    return {
        first + position
        for position, slot in enumerate(layout.plan(height).slots)
        if slot.function.program == "credits.aleo" and (slot.function.name == "mint") == public
    }


PUBLISHED = (
    Planted(
        "record1qyqsp74zscd9ftt7nmu9kgvdw9yhju5g2d473hrn2usz6qax3r8zcqc0qyxx66trwfhkxun9v35hguerqqpqzq8zv3vgyn"
        "fjvqsuhhskrhz85a8qfwhsxf0nxtqlxdgesxpekhm6p5txd8we07p5hkpzy6pzj4dgvwsmmqfqu9zs9fp2d8zjg3gqecfsquq66e7",
        "34991861259903051484578118616696933314354065413960259752551726996107650582",
        "4224543716029018640136165084920090561010816096661920746470303970528635557884",
        "6790302514922368406556389447948063872085977786750130145597451892122320282362",
    ),
    Planted(
        "record1qyqsq36grutf66t4xmgvlvry7d9hcqkanph8pk2wskh83gj3u2sa8ugzqyxx66trwfhkxun9v35hguerqqpqzqxd3xxm5q"
        "pqd5g37z2ljg8es6p5hydnmjz598v72mqelarhcy2zpt3kw3erg0a7sm8aem5jsqg2kfkgr0w9lp7xmq6mdwdfkmav988qqa0zn6z",
        "364258115809068154078136600479375080559616061791700001537437411962677323747",
        "2785879107649519811424407779393774948030955009239367226975544927685732519776",
        "1331896472642870086262671467851734117216517897217413561560090300727099869255",
    ),
    Planted(
        "record1qyqspsk2audldqyrlqdj3n745hynvpvzjas0txkky4mev5dsqghv7vq3qyxx66trwfhkxun9v35hguerqqpqzqr5cdhysk"
        "h97s2hk49087jq4k4qf0vfdc2y53mjkpdaq7nf37y9pfh3erlpqwv59mkret0zx9zqxup7jwy8ftdlpd2gqwcanaq7yvxswrk42nx",
        "3189401347631273637160235408862805673218270924977395269667861334044558957679",
        "591948497987513048367975566259275598652644603953432167015518601008713075197",
        "7775556986959381276127526977004828238543835239218601870562109706116734634690",
    ),
    Planted(
        "record1qyqspgv5dhsqr2qfgtjq7920a6mws9aflql9xmw3788lwuzrymnq46gvqyxx66trwfhkxun9v35hguerqqpqzq8w24ua3g"
        "d4nxp96ctevvll9ngmnquvprkumhg3gw9kfhwkcxmfqytsmdv2qjpecweuwty725drdgqv3930nn6sdxvtwv85y3yv535pyjmcz9k",
        "8326519037217565502565187601641908305758434432360507628577937615472777563415",
        "1888785535626377071532059391625250712298660042266421686892690081589933258873",
        "5839504771373372376902001105470077745638176360941086536858781554004286346401",
    ),
    Planted(
        "record1qyqspmg7ctcjynw5t7pn4gqmjshtmzxcent4pea3y9xhc055hcgk0ysfqyxx66trwfhkxun9v35hguerqqpqzqpe3crwcz"
        "fgsn2mzrlwa6nh3gw5exvgkxuvujjmmnthecvp7htqqjlzkm7xgm0kh2d6g26zv847tps64tp3rnwrynvkxj0qnjv4htesj3tafc8",
        "4501447237014828574698084866595980464957130071270707595766517294345441192894",
        "6368963280896867926686305382357225151545920240101793346492855320213956153987",
        "4329486666970173873167432347553290510724398457303568301358919209261631413997",
    ),
    Planted(
        "record1qyqsp09sa9r4jc3xuc2sf7mttw0pkjgtcjruejus4zhxh37gkyuntdcrqyxx66trwfhkxun9v35hguerqqpqzqpw6z76pk"
        "hwqlcrvqd3nkkde9ty45rpvqr2j03gk6sq6dzjykn3p7wn57tv6xd8c8rstwx3zykkp4w2vh3clma2ctxh8praapdqfzrqgvcqh8h",
        "2046510154439779462596857034114066132815282377006929537178848001813697346205",
        "6083678275424476797039935464248202990824179107632153918123889114865944655566",
        "1680638906600454734704906797964569246002304141428193503059613099957699588284",
    ),
    Planted(
        "record1qyqsprqsc8flf34kuqhkqhlka6h6a05prqzynv68fm2yz5vdj58hx9cdqyxx66trwfhkxun9v35hguerqqpqzqp05z678p"
        "6h9mxlvn8w2x3w2cdj8carz7yelk5l626kkfzxda6jqq6txu47fu8ck34kjag2qk47s6t4ekxhqkfn2kp88qpcgnc6hxlskjdc0s2",
        "5314186656195349144778459170565848551540244462250213262197992951174472577844",
        "1759289703160652426315804445194730190473997312475835153031393027333316238386",
        "5921498635051112879988295567899442535121979820505926035345530821630014591116",
    ),
    Planted(
        "record1qztcqcnjd8akftuy77psnmd6jcut5pzfys0egefz7y6h9erhyaj3zqgvd45kxun0vdex2erfw3ejxqqzqyqxe3rfajnjwd"
        "rgslcsm72u5zvrjxh7fxdw6ptk3ynd6h83l0k2gzmw64tsyymjafnmexwvqcmgem8ru0pwjk56m9hmk0k40lujd6q0pqpzu3af",
        "",
        "",
        "7868042379857509704204233056883532499143487231824895409266422574163452657815",
    ),
    Planted(
        "record1qyqsqyjhrccc2fs0js6xllsuqfyycyq43xadu70u0ud46elpc9g5c0grqyxx66trwfhkxun9v35hguerqqpqzqxd4j9kls"
        "hlxskjwq923v3ufdgr6tl77uvtll24tpyvm97v9qagqys2jtxjegy9qfuk7k0n5hy6zek5es3vh2fq6pcmhhcf2n6vxc0qjly0edl",
        "4124195800832775357882358676971023956429278187820888086549463491317213210912",
        "5304248295263963649224845906865017592771569205951911742099978398168113886090",
        "1465242953597314753718393696635291189589549604704582344687086794729810974482",
    ),
    Planted(
        "record1qyqsp38wzzve65ghr8s4yf3h0jxvxpcckfgyhjmzej54rxj89uf355qrqyxx66trwfhkxun9v35hguerqqpqzq8fu3wc9c"
        "za5k9sn7dm4gnxm60xw5vxlmsudvyv4t4jfrxg0z4ppz95q5neva356ugn8ntfwqg3s8qe6562pgzajkxneq9z7669rrqqjum6djr",
        "4410217787123257510632102511073734119663750166772532610371686368964169056395",
        "2077202852526328454549086804289928916698211129063707487593093726934261158961",
        "1498466273555206537389405539744961267842926574038381447991116976416466464452",
    ),
    Planted(
        "record1qyqspjv45k8v7y3p2gn4myykyv0ysznxj2dtg3gzvm8yhyr8t3cnfegvqyxx66trwfhkxun9v35hguerqqpqzqza5qtvsp"
        "h5xy4uxwgm55ag2k5w9cgfgdhpwmgnwqskrapnxsgsz8480la8gkel58uze99255sddhvuenqwqgdmzpr3yagzgjvt2cqszn80est",
        "454677000969191130569833512845413375120628497472125478381820043046051346410",
        "4038478406094953763251369086750879221647395024513284239637314529147423978297",
        "5832724107848787620073869946955108007363174109089110336192163587937288951241",
    ),
    Planted(
        "record1qyqsqjg809v7zdcxhcgeej9nxgzxdp7wwz79tycnkz0hzlw4ddjs8aq2qyxx66trwfhkxun9v35hguerqqpqzqzdy8g3jc"
        "hx0pyhe8j24zgnejpysg7tmff3cayas8naf6t46n54phwrjmp8pf8tlkwqukc7hfrh8gxwy20sczt44vrgpjv5jta63kxqvtf5muc",
        "2962213846333503801900892880846638487800171468592643691151502116017826183644",
        "5660413919638033790012733029606945922907235759837107976876289617527946339500",
        "4954262609188483320754082859607121549000600189283796553913115581371555317577",
    ),
    Planted(
        "record1qyqsqq6s7y767n8cwnyxtwuhuld4l4yfaj6vuye8p5emr40lsrsx4ms8qyxx66trwfhkxun9v35hguerqqpqzqy836nzxv"
        "c2d3hldxad2raur38awl8lyetg3kw4nxj7ukh26vzwzpe7645wk4mcl0mgwfseg0nfr7ancfme07e5tyjvr8v5h946quqq7wmek5w",
        "6784746071351549274659399135548351371004810720448267623094972551640290618739",
        "645276053678519777926885101653763538345861182348063881685692977423049810977",
        "3587437179226151069765633261487461812448888833653627944429936945206280671235",
    ),
    Planted(
        "record1qyqsqa47dupfrfevr79f9j2vtr6fz5qrnw4kmsuevgje0c85pt20uccyqyxx66trwfhkxun9v35hguerqqpqzqzacad4e5"
        "shs7ss58v3cpfmdusqsegv83anllyangpgdkw7sujzpxnqq02puvzzgj87zakr8yt7qycgm5uq5g6yz5f53fh2jhzcptrs5jk3u49",
        "4874802451420768011976303131576536482105802102812003406051478336037854183590",
        "3176436546042010581627798895022185223536226206475641001496920991411467368535",
        "1985928013980763438822810908587131396304645251889437351542825440642683879030",
    ),
    Planted(
        "record1qyqspy4q3vhpllghnyfvrz0lue6s0pxqqvvdz5yftggryzk6r9zanms0qyxx66trwfhkxun9v35hguerqqpqzq8lx3qfkn"
        "s324276nvvcpvj0wqn49mrfsqv5gc5sxhnwl8d05uxp5sazym02f5reacrwtmth46dsq45snj5culcylmzm9ancwnuwa4pq028evj",
        "7425116023180420259740876650024812409387226592269896598809396803254434910497",
        "4346141493900530955151426375239154633597706887327748486192841226711146564177",
        "7206701872082328555501161659836275194674608194965575749367727526976470884498",
    ),
    Planted(
        "record1qztcqcnjd8akftuy77psnmd6jcut5pzfys0egefz7y6h9erhyaj3zqgvd45kxun0vdex2erfw3ejxqqzqyqzjfgknwx3gm"
        "yft7j33sqq7ahxxhnlynzzv22d9ujhrm63t7a9wrsntddu6y4e5mvfar599la078nefs409rdhhjz6kduqkkjws9nsqury0hx6",
        "",
        "",
        "7868042379857509704204233056883532499143487231824895409266422574163452657815",
    ),
)
"""The records of `ADDRESS`: amounts of 1 to 16 credits, two of them with a public owner."""
