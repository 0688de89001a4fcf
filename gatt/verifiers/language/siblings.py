"""Languages beside those that can be asked for: Ukrainian for Russian, Slovak for Czech.

The detector does not know them and takes each for its neighbour. Letters and function words
that only one of the two has tell them apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gatt.verifiers.language.function_words import FUNCTION_WORDS, LETTERS
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

MIN_ALIEN = 2
MIN_ALIEN_SHARE = 0.08
"""Words with letters of another alphabet from which a text is in another language, and their share."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A language beside one that can be asked for."""

    name: str
    of: str
    """ISO 639-1 codes of the languages that it is taken for."""
    letters: frozenset[str]
    """Letters of its own words that most of these are not spelt with."""
    listed: frozenset[str]
    """Its function words, with those that it shares."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What only a sibling has, and what only the language beside it has."""

    name: str
    letters: frozenset[str]
    of_it: frozenset[str]
    of_asked: frozenset[str]
    listed: frozenset[str]


_RUSSIAN = (
    "и в на с со от до за под по при без к ко об о из у над через между после перед для про но или "
    "если когда где который которая которое которые он она оно они мы вы я ты мне меня тебе тебя "
    "ему его её ей их им нам нас вам вас себя мой моя моё мои твой свой есть был была было были "
    "будет будут быть можно нужно надо может могу могут не нет да очень также тоже только уже ещё "
    "еще даже потому поэтому всегда никогда сегодня сейчас спасибо пожалуйста хорошо люблю "
    "нравится обычно потом чтобы что это эта этот эти то так как кто какой какая какие все всё "
    "весь иногда часто много больше лучше один одна одно бывает становится а ли же бы"
)
_LISTED = (
    (
        "Ukrainian", "ru", "іїєґ",
        "і й та в у на з із зі від до за під по при без над через між після перед для про але або "
        "чи якщо коли де який яка яке які він вона воно вони ми ви я ти мені мене тобі тебе йому "
        "його їй її їх їм нам нас вам вас себе мій моя моє мої свій є був була було були буде "
        "будуть бути можна треба може можу можуть не ні так дуже також теж тільки лише вже ще "
        "навіть тому бо завжди ніколи сьогодні зараз дякую добре люблю подобається зазвичай потім "
        "щоб що це ця цей ці то як хто все всі весь інколи часто багато більше один одна одне",
    ),
    (
        "Belarusian", "ru", "іў",
        "і й у ў на з са ад да за пад па пры без над праз паміж пасля перад для пра але або ці "
        "калі дзе які якая якое якія ён яна яно яны мы вы я ты мне мяне табе цябе яму яго ёй яе іх "
        "ім нам нас вам вас сябе мой мая маё мае свой ёсць быў была было былі будзе будуць быць "
        "можна трэба можа магу могуць не так вельмі таксама толькі ужо ўжо яшчэ нават таму бо "
        "заўсёды ніколі сёння зараз дзякуй добра люблю падабаецца звычайна потым каб што гэта "
        "гэты гэтая як хто усё увесь часам часта шмат больш адзін адна",
    ),
    (
        "Bulgarian", "ru", "",
        "и в във на с със от до за под през по при без към след преди между но или ако когато "
        "където който която което които той тя то те ние вие аз ти ми ме му я ги го им ни ви си се "
        "мой моя мое мои свой е са съм сме сте беше бях бяха бъде ще да не няма има имам мога може "
        "могат трябва много също само вече още дори защото затова винаги никога днес сега "
        "благодаря моля добре обичам харесва обикновено после за какво как кой коя кое защо това "
        "тази този тези така един една едно всички всичко понякога често повече а става",
    ),
    (
        "Serbian", "ru", "ђјљњћџ",
        "и у на с са од до за под по при без к ка о из над кроз између после пре али или ако када "
        "где који која које он она оно они ми ви ја ти мени ме мене те теби му га јој је их им нам "
        "нас вам вас себе мој моја моје свој сам си смо сте су био била било били биће бити може "
        "треба не да врло веома такође само већ још чак зато јер увек никад данас сада хвала "
        "добро волим обично онда да шта што то ово овај ова тај како ко све понекад често много",
    ),
    (
        "Macedonian", "ru", "ѓќѕјљњџ",
        "и во на со од до за под по при без кон над низ меѓу после пред но или ако кога каде кој "
        "која кое кои тој таа тоа тие ние вие јас ти ми ме му го ја ги им нас вас себе мој моја "
        "мое свој е се сум си сме сте беше бев беа биде ќе да не нема има имам може треба многу "
        "исто само веќе уште дури затоа бидејќи секогаш никогаш денес сега благодарам добро сакам "
        "обично потоа што ова овој оваа како сите сè понекогаш често повеќе",
    ),
    (
        "Slovak", "cs pl", "ľĺŕôä",
        "a i aj alebo ale že aby ktorý ktorá ktoré ktorí ktorú keď kde čo kto ako prečo ja ty on "
        "ona ono my vy oni mňa ma mne mi teba ti jeho ju jej ich im nás nám vás vám sa si môj moja "
        "moje tvoj svoj svoju náš naša to ten tá tento táto toto tieto tej tých je sú som sme ste "
        "byť bol bola bolo boli bude budú mám máš má máme majú môže môžem môžete môžu musím musí "
        "nie áno nikdy nič nikto všetko všetky všetci každý každá niektoré iný viac menej veľmi "
        "veľa mnoho málo tiež ešte už vždy teraz tu tam v vo z zo na do od pre po pri cez pred pod "
        "nad medzi bez o u s so k ku či ak pretože preto teda len iba ďakujem dobre rád rada často "
        "prosím niečo trochu napríklad obyčajne zvyčajne potom dni",
    ),
    (
        "Azerbaijani", "tr", "ə",
        "və ilə üçün amma lakin ya ki bu o bunlar onlar mən sən biz siz mənə sənə ona bizə sizə "
        "məni səni onu mənim sənin onun bizim sizin bir hər bəzi bəzən bütün heç nə kim hansı "
        "harada necə niyə var yox deyil bəli xeyr da də daha çox az ən kimi qədər olaraq olan olur "
        "edir sonra əvvəl indi burada orada isə çünki yalnız həmişə yaxşı təşəkkür lazım",
    ),
    (
        "Catalan", "es fr it pt", "",
        "el la els les un una uns unes i o però que de del dels al als a en amb per sense sobre "
        "entre fins és són era eren ser estar estic està estan hi ha he hem heu han jo tu ell ella "
        "nosaltres vosaltres ells em et es ens us meu meva meus teu teva seu seva seus nostre "
        "nostra aquest aquesta aquests aquestes això allò què qui quan on com perquè si no sí molt "
        "molta molts moltes més menys també només ja encara sempre mai ara aquí allà bé gràcies "
        "bon fa fer faig vaig vam van tinc té tenim tenen m'agrada doncs mentre després abans "
        "alguna algunes cada quasi gairebé vegades puc pot poden vull dies nit vespre",
    ),
    (
        "Galician", "es pt", "",
        "o a os as un unha uns unhas e ou pero que de do da dos das ao aos en no na nos nas con "
        "por para sen sobre entre ata é son era eran ser estar estou está están hai teño ten temos "
        "teñen eu ti el ela nós vós eles elas me te se vos meu miña teu túa seu súa noso nosa este "
        "esta estes isto iso cal quen cando onde como porque si non moi moito moita moitos máis "
        "menos tamén só xa aínda sempre nunca agora aquí alí ben grazas bo boa fai facer vai "
        "gústame despois antes entón mentres ás veces podo pode queres días noite xente adoito",
    ),
    (
        "Afrikaans", "nl", "",
        "die 'n en of maar dat wat wie waar wanneer hoe hoekom ek jy u hy sy ons julle hulle my "
        "jou haar hom is was wees het had word kan moet mag sal sou wil doen gaan nie geen nee ja "
        "nooit niks alles elke ander meer minder baie ook nog altyd nou hier daar op in aan by met "
        "sonder vir na van uit oor onder tussen deur teen tot omdat as dan toe om soos hou dankie "
        "goed lekker graag dikwels soms môre vanaand dae reën eet aand hierdie daardie iets",
    ),
    (
        "Luxembourgish", "de", "",
        "an a mat vun op fir ass sinn ech du hien hatt si mir dir et gëtt ginn net och awer datt "
        "wann wou wéi wat méi ganz vill gär hunn huet hutt dat déi den dem d' eng en keng mäi däi "
        "säi eis iech wier kann muss sou scho nach ëmmer ni haut hei do no bei ouni iwwer ënner "
        "merci gutt owes eppes",
    ),
    (
        "Croatian", "cs pl", "ćđ",
        "i u na s sa od do za po pri bez ali ili ako kad kada gdje koji koja koje tko što kako "
        "zašto ja ti on ona ono mi vi oni me te se ga je nam vam im mu joj moj moja moje tvoj svoj "
        "naš sam si smo ste su biti bio bila bilo bili će ću ćemo mogu može možemo treba ne da "
        "vrlo jako samo već još čak zato jer uvijek nikad danas sada hvala dobro volim sviđa "
        "obično onda to ovo ovaj ova taj sve često mnogo puno više nešto navečer nego kao pa iz o",
    ),
    (
        "Slovene", "cs pl", "",
        "in na v z s od do za po pri brez pa ali ker če ko kdaj kje ki kdo kaj kako zakaj jaz ti "
        "on ona mi vi oni me te se ga je jo nam vam jim mu ji moj moja moje svoj naš sem si smo "
        "ste so biti bil bila bilo bili bo bom bodo ni nisem da ne zelo samo že še vedno nikoli "
        "danes zdaj hvala dobro rad rada všeč običajno potem to ta tega vse pogosto veliko več "
        "nekaj zvečer kot iz o tudi lahko",
    ),
    (
        "Frisian", "nl", "",
        "de it yn en of mar om't as wa wat wêr wannear hoe wêrom ik do hy sy wy jim my dy him har "
        "ús is wie wiene west ha hat hie wurdt wurde kin moat mei sil soe wol net gjin nee ja nea "
        "altiten alles elk mear minder folle tige ek noch no hjir dêr op oan by foar fan út oer "
        "ûnder troch oant sûnt dan doe sa tank goed graach faak nei",
    ),
    (
        "Low German", "nl de", "",
        "de dat een un or man wat wer wo wenn woans worüm ik du he se wi ji mi di em ehr uns is "
        "weer weern ween bün büst sünd hebb hett harr warrt warr kann mutt schall wull nich keen "
        "nee jo nie all elk mehr veel bannig ok noch nu hier dor op an bi mit ahn för vun na ut "
        "över ünner dör gegen bet as denn so geern faken af",
    ),
    (
        "Turkmen", "tr", "ýňä",
        "we bilen üçin emma ýa bu şu ol olar men sen biz siz maňa saňa oňa meni seni bir her käbir "
        "ähli hiç näme kim haýsy nirede nähili bar ýok däl hawa hem da de has köp az iň ýaly çenli "
        "bolup bolan bolýar edýär soň öň häzir sebäbi diňe hemişe gowy",
    ),
    (
        "Esperanto", "es it pt ro", "ĉĝĥĵŝŭ",
        "la kaj de en al por kun sen sur sub inter ke se ĉar kiam kie kiu kio kiel kial mi vi li "
        "ŝi ĝi ni ili mia via lia ŝia nia estas estis estos estus havas povas devas volas ne jes "
        "tre multe pli ankaŭ nur ankoraŭ jam ĉiam neniam hodiaŭ nun tie ĉi dankon bone iu io ĉio",
    ),
    (
        "Estonian", "fi", "õ",
        "ja või aga et kui mis kes kus millal kuidas miks mina ma sina sa ta tema meie teie nad mu "
        "su minu sinu tema see seda need selle on oli olid olla olen oled oleme ei ole võib saab "
        "saan peab teha siis nii ka veel juba alati nüüd siin seal koos ilma enne pärast kaudu "
        "ning ainult väga palju vähe rohkem kõik iga muu aitäh tere jah sest ehk tihti mulle "
        "meeldib midagi näiteks tavaliselt õhtul kevadel",
    ),
    (
        "Icelandic", "da nb sv", "ðþ",
        "og er að það ekki ég þú hann hún við þið þeir á í um til frá með fyrir eftir sem en eða "
        "ef þegar hvar hvað hver mjög einnig líka mér finnst gott var voru verður verða vera hefur "
        "hafa stundum oft",
    ),
    (
        "Cantonese", "zh", "嘅咗喺佢哋唔冇嘢啲嚟嗰咁啱攞瞓乜嘥",
        "嘅 咗 喺 佢 哋 唔 冇 嘢 啲 嚟 嗰 咁 啱 攞 瞓 乜",
    ),
)  # fmt: skip
_SIBLINGS = tuple(
    Sibling(name, of, frozenset(letters), frozenset(listed.split()))
    for name, of, letters, listed in _LISTED
)
OWN_WORDS = {
    **FUNCTION_WORDS,
    "ru": frozenset(_RUSSIAN.split()),
    "zh": frozenset("的了在他她们們不没沒这這那来來是什么麼东東西"),
}


"""ISO 639-1 code -> function words; for Chinese, characters that no sentence does without."""
_LOANED = frozenset("àáâäåæçèéêëíîïñóôöøúûüœß")
"""Letters of names and loan words in any Latin script: "café", "jalapeño", "smörgåsbord"."""
_ALPHABETS = {
    "ru": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя"),
    "el": frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"),
}
_SCRIPTS = {"ru": re.compile("[Ѐ-ӿ]"), "el": re.compile("[Ͱ-Ͽἀ-῿]")}
_LATIN = re.compile("[a-zà-ɏḀ-ỿ]")


@lru_cache(maxsize=1)
def _told_apart() -> dict[str, list[_Told]]:
    """Return for each code what tells its siblings from it."""
    found: dict[str, list[_Told]] = {}
    for sibling in _SIBLINGS:
        for code in sibling.of.split():
            own = OWN_WORDS[code]
            letters = sibling.letters - LETTERS.get(code, frozenset())
            told = _Told(
                sibling.name, letters, sibling.listed - own, own - sibling.listed, sibling.listed
            )
            found.setdefault(code, []).append(told)
    return found


def sibling_of(text: str, code: str) -> tuple[str, bool] | None:
    """Return the sibling that a text may be in, and whether it surely is, or None.

    Args:
        text: prose in the script of the language.
        code: the language that is asked for.
    """
    spelt = [word.lower().replace("’", "'").strip("'") for word in words(text)]
    # Who writes no accent at all leaves them out of the words of either.
    bare = _bare(code) if text.isascii() else frozenset()
    found = []
    for told in _told_apart().get(code, ()):
        num_its = sum(
            (word in told.of_it and word not in bare) or not told.letters.isdisjoint(word)
            for word in spelt
        )
        num_asked = sum(word in told.of_asked or word in bare - told.listed for word in spelt)
        if num_its > max(1, num_asked):
            found.append((num_its - num_asked, told.name, num_its, num_asked))
    if not found:
        return None
    _, name, num_its, num_asked = max(found)
    return name, num_its >= 2 * num_asked


@lru_cache(maxsize=32)
def _bare(code: str) -> frozenset[str]:
    """Return the words of a language that have accents, without them."""
    return frozenset(map(fold_text, OWN_WORDS.get(code, ()))) - OWN_WORDS.get(code, frozenset())


def alien_words(text: str, code: str) -> list[str]:
    """Return the words that a language has no letters for, or none where these are few.

    Args:
        text: prose without names.
        code: the language that is asked for.
    """
    if code in LETTERS:
        pattern, known = _LATIN, frozenset("abcdefghijklmnopqrstuvwxyz") | LETTERS[code] | _LOANED
    elif code in _ALPHABETS:
        pattern, known = _SCRIPTS[code], _ALPHABETS[code]
    else:
        return []
    spelt = [word for word in words(text) if not word[0].isupper()]
    found = [word for word in spelt if not known.issuperset(pattern.findall(word.lower()))]
    is_other = len(found) >= MIN_ALIEN and len(found) >= MIN_ALIEN_SHARE * len(spelt)
    return found if is_other else []
