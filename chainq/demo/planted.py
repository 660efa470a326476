"""Records of the sample chain that a published test key owns, so that `chainq owned` finds something.

All other rows of the chain are computed from their height; these are real ciphertexts, made once with
`chainq.wallet.sample`, so that the chain needs no cryptography of its own. The key is an example of the SDK's
documentation: anyone can read what it owns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from chainq.demo.layout import Layout

VIEW_KEY = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"
"""The published test key."""

ADDRESS = "aleo1j7qxyunfldj2lp8hsvy7mw5k8zaqgjfyr72x2gh3x4ewgae8v5gscf5jh3"
"""Its address."""

SPACING = 29
"""Record k (from 1) is planted at the first suitable place from height SPACING * k² on: dense at first, then sparse."""


SENDER = "aleo15yrhv4mmmcv8v3v8f3z3rkj0dtjsmms4nzq8a8cfnu3gceyzjcxsex0vuv"
"""The address that made the records that show a sender."""


class Planted(NamedTuple):
    """One planted record: its ciphertext and its ownership row. Empty nonces: its owner is public.

    `output_id`: the `id` of its output, which is its commitment. `sender_ciphertext`: that of its output, empty for
    records of version 0, which have none. `tag`: of the input that spends it, empty for a record that is not spent.
    """

    record_ciphertext: str
    nonce_x: str
    nonce_y: str
    owner_x: str
    output_id: str = ""
    sender_ciphertext: str = ""
    tag: str = ""


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


Input = tuple[int, int, int, int]
"""Height, index of a transaction, number of a transition in it, index of an input."""

LIFE = 20
"""Heights after which a planted record is spent at the earliest."""


def spends(layout: Layout, planted: Mapping[int, Planted]) -> dict[Input, str]:
    """Return the tags of the inputs that spend planted records: the first inputs of credits.aleo that are free."""
    found: dict[Input, str] = {}
    for number, record in sorted(planted.items()):
        located = layout.records.locate(number)
        if not record.tag or located is None:
            continue
        height = located[0] + LIFE
        while not (free := [at for at in _record_inputs(layout, height) if at not in found]):
            height += 1
        found[free[0]] = record.tag
    return found


def _record_inputs(layout: Layout, height: int) -> Iterator[Input]:
    """Yield the record inputs of the transitions of credits.aleo that happened in a block."""
    for index, plan in enumerate(layout.plan(height).transactions):
        for number, call in enumerate(plan.transitions):
            if call.function.program == "credits.aleo":
                for position, kind in enumerate(call.function.inputs):
                    if kind == "record":
                        yield height, index, number, position


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
        "record1qyqsp74zscd9ftt7nmu9kgvdw9yhju5g2d473hrn2usz6qax3r8zcqc0qyxx66trwfhkxun9v35hguerqqpqzq8zv"
        "3vgynfjvqsuhhskrhz85a8qfwhsxf0nxtqlxdgesxpekhm6p5txd8we07p5hkpzy6pzj4dgvwsmmqfqu9zs9fp2d8zjg3gqe"
        "cfsquq66e7",
        "34991861259903051484578118616696933314354065413960259752551726996107650582",
        "4224543716029018640136165084920090561010816096661920746470303970528635557884",
        "6790302514922368406556389447948063872085977786750130145597451892122320282362",
        "3963836291557248348093499800472554215491827607200391861842746406157760416510field",
    ),
    Planted(
        "record1qvqsq58t04v5e74t3ywu78z56tqrcfhqxq0py624asshatf5e0ht2ccpqyxx66trwfhkxun9v35hguerqqpqzqykv"
        "n3v8evf9xfhy224wwfmqt6vp5gmqpytg2nypztlcxpv43x9q0rzdg7nquskzvte6dw9kgdclgc7wwv5gyjuz8fywagnw6nu0"
        "p5scg34prd",
        "5614104688581788123792450075589286901319928319392964429621637459430202353350",
        "2445456593735660696103655156583886631856078679538705448807975544627919035896",
        "628486361952467870890421387230914679268421852356988494131217207899776215888",
        "6123940227497934524733187206327991061525687314600816697900094954862232115512field",
        "3514047802834161154280347843978116198292660172745342706954687745716606962288field",
        "2946328330044167381607998673320358226369204627932537212781102047038574131706field",
    ),
    Planted(
        "record1qyqspsk2audldqyrlqdj3n745hynvpvzjas0txkky4mev5dsqghv7vq3qyxx66trwfhkxun9v35hguerqqpqzqr5c"
        "dhyskh97s2hk49087jq4k4qf0vfdc2y53mjkpdaq7nf37y9pfh3erlpqwv59mkret0zx9zqxup7jwy8ftdlpd2gqwcanaq7y"
        "vxswrk42nx",
        "3189401347631273637160235408862805673218270924977395269667861334044558957679",
        "591948497987513048367975566259275598652644603953432167015518601008713075197",
        "7775556986959381276127526977004828238543835239218601870562109706116734634690",
        "7284812445150708474411276346864918994958422702361104765381418482130602622448field",
    ),
    Planted(
        "record1qvqsq7pwg5wf3ysxw94xgynvhnpfsmvc5eaawmycpv5dgvsnmg5uqfs9qyxx66trwfhkxun9v35hguerqqpqzqpql"
        "89c458ame0gk5vkkqgyt9mmdafng4e4n0c7ewvhgxkx8gz4q5y9wg3xwzh5zugp94vca0spkefqwfy495kucc36em92jeh5d"
        "7cpzfzy7d7",
        "8001056192199706995428856832777572733529147964055528411117557709746812901128",
        "5935741964286270600509077501507335562315010822690290338380253833265620127511",
        "2330030695000285096836636206651400870167568454359367260211781404696275922552",
        "1217804107970184024029297972237499901227338728361915506811081883691930776845field",
        "1093972782715449488885920911335959455062896331965223543390813279388666329102field",
    ),
    Planted(
        "record1qyqspmg7ctcjynw5t7pn4gqmjshtmzxcent4pea3y9xhc055hcgk0ysfqyxx66trwfhkxun9v35hguerqqpqzqpe3"
        "crwczfgsn2mzrlwa6nh3gw5exvgkxuvujjmmnthecvp7htqqjlzkm7xgm0kh2d6g26zv847tps64tp3rnwrynvkxj0qnjv4h"
        "tesj3tafc8",
        "4501447237014828574698084866595980464957130071270707595766517294345441192894",
        "6368963280896867926686305382357225151545920240101793346492855320213956153987",
        "4329486666970173873167432347553290510724398457303568301358919209261631413997",
        "3082535409617411543988423493966022613698323552332248158887641153814203806342field",
        "",
        "6188639852546493001510246416416201669497769265133404659019592095587017735223field",
    ),
    Planted(
        "record1qvqspdn2z2l5n09ak6k5r8l8kdss5kf8ar9kjnc5ev9ju6d227vlpgcxqyxx66trwfhkxun9v35hguerqqpqzq8xy"
        "vzahk605p8qn0e2qmt8p67eyf529rrv3aaaykg08nj2g7vcqzjxksu0hz8zfjnjwgekudqlz8ewnph90gzw46xp9wlpvyzke"
        "qhq29467c2",
        "2344221877415261643400582200577154332078889923677359759334632784541365005220",
        "837606762791386305468989184484796823280752631214591418513886471497846424827",
        "3003533716285817121700019251817311192684271657979255975185642015525562378934",
        "2983287090631415978533387640664576639972923259241302365501324984419309037285field",
        "2659887109655674109387648222303805163835787868089746605052502421815630016428field",
    ),
    Planted(
        "record1qyqsprqsc8flf34kuqhkqhlka6h6a05prqzynv68fm2yz5vdj58hx9cdqyxx66trwfhkxun9v35hguerqqpqzqp05"
        "z678p6h9mxlvn8w2x3w2cdj8carz7yelk5l626kkfzxda6jqq6txu47fu8ck34kjag2qk47s6t4ekxhqkfn2kp88qpcgnc6h"
        "xlskjdc0s2",
        "5314186656195349144778459170565848551540244462250213262197992951174472577844",
        "1759289703160652426315804445194730190473997312475835153031393027333316238386",
        "5921498635051112879988295567899442535121979820505926035345530821630014591116",
        "1356514132046701147930065950278547325725864830877076841735545090777098263907field",
    ),
    Planted(
        "record1q2tcqcnjd8akftuy77psnmd6jcut5pzfys0egefz7y6h9erhyaj3zqgvd45kxun0vdex2erfw3ejxqqzqyqqeqxnl"
        "7lwtkvuext339umg4xaspxn6nrzh97llnzwxn3yvql6vr2why0rfr9n7567zyunncmdeqs0mn06ahp26t4l8r9zcj4nk35pq"
        "g5znelv",
        "",
        "",
        "7868042379857509704204233056883532499143487231824895409266422574163452657815",
        "3854766479383007451267905130540721522714061403219415412297453541386243874137field",
        "3645993922522420369709570052839044090684198613423819775189828162685323971939field",
        "1010245372893763210998035615516607660446871370676001829586553363386299385632field",
    ),
    Planted(
        "record1qyqsqyjhrccc2fs0js6xllsuqfyycyq43xadu70u0ud46elpc9g5c0grqyxx66trwfhkxun9v35hguerqqpqzqxd4"
        "j9klshlxskjwq923v3ufdgr6tl77uvtll24tpyvm97v9qagqys2jtxjegy9qfuk7k0n5hy6zek5es3vh2fq6pcmhhcf2n6vx"
        "c0qjly0edl",
        "4124195800832775357882358676971023956429278187820888086549463491317213210912",
        "5304248295263963649224845906865017592771569205951911742099978398168113886090",
        "1465242953597314753718393696635291189589549604704582344687086794729810974482",
        "1697736926260219763958234199327602690462917186311488791594384451505497441381field",
    ),
    Planted(
        "record1qvqspe6p44rx586zt3qvumjhcxj9taatxlhxfu5at8dth3upgdyehgszqyxx66trwfhkxun9v35hguerqqpqzqy4u"
        "fkc3mw2d5a3f3f76zrf3v6pt0s56h7vcld6f7jkukpx6ypcz2pm7tyryhmc966zha4fuyreu2mvyvnmvm0jgcmzqqv94jez7"
        "4hqxhnf8jg",
        "1552983588784029442806157110845353376047926035805183054320147378886234914691",
        "2457948858601958331992442174534308050790327153899745219981333941612600293908",
        "1191926667529802301132600421265324856327821410921072765727366875484552774119",
        "4783006441393890562046089572697305829110131282006641490697656384239063738846field",
        "3438974199808130623472688805386402570783296013670866355493388154469449618366field",
    ),
    Planted(
        "record1qyqspjv45k8v7y3p2gn4myykyv0ysznxj2dtg3gzvm8yhyr8t3cnfegvqyxx66trwfhkxun9v35hguerqqpqzqza5"
        "qtvsph5xy4uxwgm55ag2k5w9cgfgdhpwmgnwqskrapnxsgsz8480la8gkel58uze99255sddhvuenqwqgdmzpr3yagzgjvt2"
        "cqszn80est",
        "454677000969191130569833512845413375120628497472125478381820043046051346410",
        "4038478406094953763251369086750879221647395024513284239637314529147423978297",
        "5832724107848787620073869946955108007363174109089110336192163587937288951241",
        "6224100439885146708654911845451052238843844025598612413090301650538346015150field",
        "",
        "2602484567433199992886647425697573876488816712384849959486511802516819111657field",
    ),
    Planted(
        "record1qvqsqez0d74d9mkrkye6dsak72w42wqczxdalumzjmfxc8hgdgqggjsvqyxx66trwfhkxun9v35hguerqqpqzq8sy"
        "mehf6z0uckr7jxxmzqhw38xz9v7weapqm2j6kyhc4shjcfqpzgunsx7u6vhzx4flw9djddrhu2v70nx0atajzk5dv0v8jlff"
        "gysx7xx7zs",
        "1373357201688703012782559639288151436510478524971629803852978377799998949777",
        "4374170968974693869210327414811034944164889599616202041581879451259225288812",
        "5559411907569164527712591442584672666121391937580683557798065435326026829668",
        "3386752667336641609475871050910999399544667424474467737905650900137469622584field",
        "5417343459385533614905455179424643759534911614565045800011125624791900297760field",
    ),
    Planted(
        "record1qyqsqq6s7y767n8cwnyxtwuhuld4l4yfaj6vuye8p5emr40lsrsx4ms8qyxx66trwfhkxun9v35hguerqqpqzqy83"
        "6nzxvc2d3hldxad2raur38awl8lyetg3kw4nxj7ukh26vzwzpe7645wk4mcl0mgwfseg0nfr7ancfme07e5tyjvr8v5h946q"
        "uqq7wmek5w",
        "6784746071351549274659399135548351371004810720448267623094972551640290618739",
        "645276053678519777926885101653763538345861182348063881685692977423049810977",
        "3587437179226151069765633261487461812448888833653627944429936945206280671235",
        "2836990851191384700341914851707232730555588204775353225416968863788708804569field",
    ),
    Planted(
        "record1qvqsp8r6g38angsx4c9r9gdwnf9f3nsxx2tuq69273yzycg2r3kmshsgqyxx66trwfhkxun9v35hguerqqpqzqqg3"
        "mgf2sr5fdde95f4upmsdz58rs7k8kanv0la0fq9hf6qm5jkpwgxqcyv3ghx5ypvjqxsp69x8qw0ug8xm709nytz7nzf6a9r0"
        "v7s5flpzx5",
        "4631759478337235694051827725664506521149422766504691717461400996614110208144",
        "6020697494767910557492995556216154279257046540087032576760907885209170961150",
        "3785859275670309433437574405948234349245869997312941894195243306807330110108",
        "3908961254554854787168658248717587344332525113939741692715606746911932913557field",
        "5107540526797348660573881614625359545706352879840587903999617937374977154554field",
        "4451766128970338905620764225397346123113173245267662536001024952943873827640field",
    ),
    Planted(
        "record1qyqspy4q3vhpllghnyfvrz0lue6s0pxqqvvdz5yftggryzk6r9zanms0qyxx66trwfhkxun9v35hguerqqpqzq8lx"
        "3qfkns324276nvvcpvj0wqn49mrfsqv5gc5sxhnwl8d05uxp5sazym02f5reacrwtmth46dsq45snj5culcylmzm9ancwnuw"
        "a4pq028evj",
        "7425116023180420259740876650024812409387226592269896598809396803254434910497",
        "4346141493900530955151426375239154633597706887327748486192841226711146564177",
        "7206701872082328555501161659836275194674608194965575749367727526976470884498",
        "2444135115164624185760406827362107419429594577916007484067506050569399325436field",
    ),
    Planted(
        "record1q2tcqcnjd8akftuy77psnmd6jcut5pzfys0egefz7y6h9erhyaj3zqgvd45kxun0vdex2erfw3ejxqqzqyqprfuuk"
        "w2gqc2xpczgdzdaq0kymkrngu9wsm7heg0gadpq05d7xqjr3guxla9ywva4d0k9sxyhxerwkffm2mytyx4pe2ezpckqxdaqq"
        "v8sg5u9",
        "",
        "",
        "7868042379857509704204233056883532499143487231824895409266422574163452657815",
        "7506196375929126466645194514389429537054813569998992324505910633547656658982field",
        "7657098260761702837677974946471668276944842101016554251975347176137210054648field",
    ),
)
"""The records of `ADDRESS`: amounts of 1 to 16 credits. Two have a public owner, every second one has version 1 and a
sender, and every third one is spent."""
