"""Patterns of replies that talk about their instruction, in the catalogue's languages except English.

They match folded text, as in `talk_patterns`. Each language has up to four forms: "as you
asked", "I was told to", "I will speak our language", "here is a reply that". The third
names the language by its own name, and excludes "with my aunt" and "at work".
"""

from __future__ import annotations

_FR_ADVERBS = (
    r"(?:(?:donc|maintenant|desormais|uniquement|seulement|toujours|exclusivement|vous|te|bien sur)"
    r" )*"
)
FRENCH = (
    r"\bcomme (?:(?:(?:vous|tu) )?(?:(?:me )?l'|m'|me )?(?:avez |as |aviez |avais )?demande"
    r"|convenu dans les instructions|indique dans les instructions)\b",
    r"\b(?:selon|d'apres|conformement a|suivant) (?:vos|tes|les|mes) instructions\b(?! d)",
    rf"\b(?:vous m'avez|vous m'aviez|tu m'as|on m'a|j'ai ete) (?:dit|demande|ordonne|prie|programme)e?"
    rf" (?:de |d'|pour )(?:ne )?{_FR_ADVERBS}(?:parler {_FR_ADVERBS}(?:qu'en |en |le )?francais"
    rf"|repondre {_FR_ADVERBS}(?:qu')?en (?:francais|une)|mentionner|faire semblant d|incarner"
    r"|jouer le role|agir comme)",
    r"\b(?:vous m'avez|tu m'as|on m'a) dit que j'(?:aime|adore)\b",
    rf"\bje (?:(?:vais|dois|devrai|suis censee?|suis (?:oblige|tenu)e? de) {_FR_ADVERBS}(?:parler|repondre"
    rf"|ecrire|continuer|m'exprimer)|{_FR_ADVERBS}(?:parlerai|repondrai|ecrirai|reponds|continuerai))"
    rf" {_FR_ADVERBS}(?:en )?francais\b"
    r"(?! (?:avec (?!vous|toi)|aux? |a (?!partir)|chez|pour|pendant|dans|demain|quand|comme|lors|devant))",
    r"\bje ne (?:(?:peux|dois|vais) (?:vous |te )?(?:repondre|parler)|reponds) qu'en francais",
    r"\bvoici (?:une|ma|la) (?:(?:breve|courte) )*(?:reponse|phrase) (?:courte |breve )?(?:en francais"
    r"|qui (?:mentionne|parle)|mentionnant|comme demande)",
    r"\ben une (?:seule |courte )?phrase(?: courte)?\b",
)
_ES_ADVERBS = r"(?:(?:ahora|solo|solamente|unicamente|siempre|exclusivamente|te|le) )*"
SPANISH = (
    r"\bcomo (?:me |lo |usted )*(?:has |ha |habias |habia )?(?:pediste|pidio|pedido|solicitaste"
    r"|solicito|solicitado|indicaste)\b",
    r"\b(?:segun|siguiendo|de acuerdo con) (?:tus|sus|las|mis) instrucciones\b(?! de)",
    r"\b(?:me (?:dijeron|dijiste|han dicho|has dicho|pidieron|pediste|pidio|han pedido|has pedido)"
    r"|se me (?:ha )?(?:pidio|pedido|indico|indicado|dijo|dicho)) que (?:(?:solo|siempre) )*"
    r"(?:(?:hable|hablara) (?:solo |siempre )*(?:en )?espanol|(?:responda|respondiera|conteste)"
    r" (?:solo |siempre )*(?:en|como|con) |mencion|actu[ea]|finj)",
    r"\b(?:se supone que|me (?:dijeron|dijiste|han dicho|has dicho) que) me (?:gusta|encanta)\b",
    rf"\b(?:(?:voy a|debo|tengo que|he de|estoy obligad[oa] a) {_ES_ADVERBS}(?:hablar|responder"
    rf"|contestar|escribir)(?:te|le)?|(?:respondere|contestare|hablare|escribire))"
    rf" {_ES_ADVERBS}(?:en )?espanol\b"
    r"(?! (?:con (?!usted|tigo|migo)|en (?!tod)|al? (?!partir)|para|manana|cuando|durante|por la))",
    r"\baqui (?:esta|tienes|tiene|va) (?:una|mi|la) (?:breve )?(?:respuesta|frase) (?:corta |breve )?"
    r"(?:en espanol|que menciona|mencionando)",
    r"\ben una (?:sola )?(?:frase|oracion) corta\b",
)
_DE_ADVERBS = (
    r"(?:(?:jetzt|nun|nur|nur noch|ausschliesslich|immer|ab jetzt|von jetzt an|ab sofort|dir|ihnen"
    r"|euch|daher|also|gerne?|naturlich|stets|mit (?:dir|ihnen|euch)) )*"
)
GERMAN = (
    r"\bwie (?:gewunscht|verlangt|angewiesen|gefordert)(?=[,.:;!]|$| \w+e ich\b)",
    r"\bwie (?:du|sie|ihr) (?:es |mich |mir )*(?:gewunscht|verlangt|gebeten|aufgetragen"
    r"|angewiesen) ha",
    r"\bwie von (?:dir|ihnen|euch) (?:gewunscht|verlangt|gefordert|angewiesen)\b",
    r"\b(?:laut|gemass) (?:deinen|ihren|meinen|den) (?:anweisungen|vorgaben)\b(?! (?:des|der|von))",
    r"\b(?:ich (?:wurde|bin) (?:angewiesen|gebeten|aufgefordert)(?: worden)?|(?:du hast|sie haben|man"
    r" hat) mi(?:ch|r) (?:gebeten|gesagt|aufgetragen)),? (?:nur )?(?:(?:auf )?deutsch zu|so zu tun)",
    r"\b(?:mir wurde gesagt|man hat mir gesagt|(?:du hast|sie haben) mir gesagt),? dass ich [\w ]{1,30}"
    r"\b(?:mag|liebe|gern \w+)\b",
    rf"\b(?:ich (?:werde|soll|muss|darf)|(?:werde|soll|muss|darf) ich) {_DE_ADVERBS}(?:auf |in )?"
    r"deutsch (?:antworten|sprechen|schreiben|reden)\b",
    rf"\b(?:ich antworte|antworte ich) {_DE_ADVERBS}auf deutsch\b",
    r"\b(?:ich spreche (?:ab jetzt|von jetzt an|ab sofort|jetzt nur noch|nun)|(?:ab jetzt|von jetzt an"
    r"|ab sofort) spreche ich) (?:nur )?deutsch\b",
    r"\bhier ist (?:eine|meine|die|ein|mein) (?:kurzer? )?(?:antwort|satz)(?: auf deutsch"
    r"|,? (?:die|der|in dem|in der) [\w ]{1,30}erwahnt)",
    r"\bin einem (?:einzigen |kurzen )+satz\b",
)
_IT_ADVERBS = r"(?:(?:ora|adesso|sempre|solo|soltanto|esclusivamente|ti|vi|le) )*"
ITALIAN = (
    r"\bcome (?:mi |lo )?(?:hai|ha|avete|avevi) (?:chiesto|richiesto|ordinato)\b",
    r"\bcome (?:richiesto|da (?:istruzioni|richiesta))\b",
    r"\b(?:secondo|seguendo) le (?:tue|sue|vostre|mie)? ?istruzioni\b(?! d)",
    r"\bmi (?:e stato|hanno|hai|avete|ha) (?:chiesto|detto|ordinato) di (?:(?:solo|sempre) )*"
    rf"(?:parlare {_IT_ADVERBS}(?:in )?italiano|rispondere {_IT_ADVERBS}(?:in (?:italiano|una)|come)"
    r"|menzionare|fingere|interpretare)",
    r"\bmi (?:e stato|hanno|hai|avete) detto che (?:mi piace|adoro|amo)\b",
    rf"\b(?:(?:devo|dovro|sto per|dovrei) {_IT_ADVERBS}(?:parlar|risponder|scriver)(?:e|ti|vi|le)"
    rf"|(?:rispondero|parlero|scrivero)) {_IT_ADVERBS}(?:in )?italiano\b"
    r"(?! (?:con (?!te\b|voi|lei\b)|all|al |a (?!partire)|in (?!ogni|tutt)|per |domani|quando))",
    r"\becco (?:una|la mia|la) (?:breve )?(?:risposta|frase) (?:breve )?(?:in italiano"
    r"|che menziona|menzionando|come richiesto)",
    r"\bin una (?:sola |breve )?frase (?:breve|corta)\b",
)
_PT_ADVERBS = r"(?:(?:agora|apenas|so|somente|sempre|exclusivamente|te|lhe) )*"
PORTUGUESE = (
    r"\bcomo (?:voce |tu )?(?:me )?(?:pediu|pediste|solicitou)\b",
    r"\b(?:conforme|como) (?:solicitado|pedido|as (?:suas |tuas )?instrucoes)\b",
    r"\b(?:segundo|seguindo|de acordo com) as (?:suas |tuas |minhas )?instrucoes\b(?! d)",
    r"\b(?:me (?:disseram|pediram|disse|pediu)|voce me (?:disse|pediu)|pediram-me|disseram-me)"
    rf" (?:para|que) (?:eu )?{_PT_ADVERBS}(?:(?:falar|falasse|fale) {_PT_ADVERBS}(?:em )?portugues"
    r"|(?:responder|respondesse|responda) (?:apenas |so )?(?:em|como)|mencion|fingi)",
    r"\b(?:me (?:disseram|disse)|disseram-me|foi-me dito|voce (?:me )?disse) que (?:eu )?(?:gosto|adoro"
    r"|amo)\b",
    rf"\b(?:(?:vou|devo|tenho (?:que|de)|preciso) {_PT_ADVERBS}(?:falar|responder|escrever)"
    rf"|(?:responderei|falarei|escreverei)) {_PT_ADVERBS}(?:em )?portugues\b"
    r"(?! (?:com (?!voce|contigo)|n[oa]s? |ao? (?!partir)|em (?!tod)|para|amanha|quando))",
    r"\b(?:aqui esta|segue|eis) (?:uma|a minha|minha|a) (?:breve )?(?:resposta|frase) (?:curta |breve )?"
    r"(?:em portugues|que menciona|mencionando)",
    r"\b(?:em|numa) (?:uma )?(?:unica )?frase curta\b",
)
_NL_ADVERBS = (
    r"(?:(?:nu|alleen|alleen maar|voortaan|vanaf nu|enkel|altijd|je|u|jou|dus|uitsluitend|graag"
    r"|met (?:je|jou|u)) )*"
)
DUTCH = (
    r"\bzoals (?:gevraagd|verzocht|opgedragen|(?:je|u|jullie) (?:me |mij )?(?:hebt |heb |heeft |had )?"
    r"(?:gevraagd|vroeg|verzocht))\b",
    r"\bvolgens (?:de|jouw|uw|je|mijn) (?:instructies?|opdracht)\b(?! (?:van|op))",
    r"\b(?:(?:mij|me) is|je hebt (?:me|mij)|u hebt (?:me|mij)|ik (?:ben|werd)) (?:gevraagd|verteld|gezegd"
    r"|opgedragen),? (?:om )?(?:alleen )?(?:(?:in het )?nederlands te|te doen alsof)",
    r"\b(?:(?:mij|me) is|(?:je|u) (?:hebt|heb|had) (?:me|mij)) (?:verteld|gezegd) dat ik (?:van [\w ]{1,20}"
    r"houd|[\w ]{1,20}leuk vind)",
    rf"\b(?:ik (?:zal|ga|moet|mag)|(?:zal|ga|moet|mag) ik) {_NL_ADVERBS}(?:(?:in het )?nederlands (?:te )?"
    r"(?:praten|spreken|antwoorden|schrijven)|(?:praten|spreken|antwoorden|schrijven) in het nederlands)",
    r"\b(?:(?:vanaf nu|voortaan) (?:praat|spreek) ik|ik (?:praat|spreek) (?:vanaf nu|voortaan))"
    r" (?:alleen )?nederlands\b",
    rf"\b(?:ik antwoord|antwoord ik) {_NL_ADVERBS}in het nederlands\b",
    r"\bhier is (?:een|mijn|het) (?:korte? )?(?:antwoord|zin)(?: in het nederlands|,? (?:dat|die|waarin)"
    r" [\w ]{1,30}(?:noemt|vermeldt|genoemd))",
)
_NORDIC = (
    r"(?:(?:nu|na|bara|bare|kun|alltid|altid|dig|deg|gerne|gjerne|fra na av|fran och med nu) )*"
)
NORTHERN = (
    r"\bsom (?:du|ni|de) (?:bad|ba|har bett|har bedt|begarde)(?: om| mig| meg)?(?=[,.:;!]|$)",
    r"\b(?:enligt|i henhold til|ifolge) (?:dina |mina |dine |mine )?instru[kx]",
    rf"\bjag (?:ska|skall|kommer att|maste|bor) {_NORDIC}(?:svara|tala|prata|skriva) {_NORDIC}(?:pa )?"
    r"svenska\b(?! (?:med (?!dig)|pa|i |hos|nar|till))",
    rf"\bjeg (?:vil|skal|ma|kommer til a|bor) {_NORDIC}(?:svare|tale|snakke|skrive) {_NORDIC}(?:pa )?"
    r"(?:dansk|norsk)\b(?! (?:med (?!de?i?g)|pa|i |hos|nar|til))",
    r"\b(?:kuten (?:pyysit|pyydettiin|kaskettiin)|ohjeiden(?:ne|si|ni)? mukaan)\b",
    r"\b(?:minun (?:taytyy|pitaa|tulee)|aion|minua pyydettiin) (?:(?:nyt|vain|aina) )*(?:(?:puhua|vastata"
    r"|kirjoittaa) (?:(?:nyt|vain|sinulle) )*suome(?:a|ksi)|suomeksi (?:vastata|puhua))"
    r"|\bvastaan (?:(?:nyt|vain|sinulle) )*suomeksi\b",
)
EASTERN = (
    r"\b(?:jak|tak jak) (?:po)?(?:prosiles|prosilas|prosil pan|prosila pani)\b",
    r"\bzgodnie z (?:twoj|twoim|twoimi|panstwa|instrukcj|polecen|prosb)",
    r"\b(?:bede|musze|mam|powinienem|powinnam) (?:(?:teraz|tylko|wylacznie|zawsze|ci) )*(?:mowic|mowil"
    r"|mowila|odpowiadac|odpowiadal|odpowiadala|pisac|rozmawiac) (?:(?:teraz|tylko|wylacznie) )*po polsku"
    r"(?! (?:z (?!toba)|w |do |na |gdy|kiedy))|\bodpowiem (?:ci )?(?:tylko )?po polsku",
    r"\bjak (?:jsi|jste) (?:me |mi )?(?:zadal|pozadoval|pozadal|poprosil)|\bpodle (?:tvych |vasich )?"
    r"(?:pokynu|instrukci)\b",
    r"\b(?:budu|musim|mam) (?:(?:ted|nyni|jen|pouze|vzdy|ti|vam) )*(?:mluvit|odpovidat|psat|hovorit)"
    r" (?:(?:ted|nyni|jen|pouze) )*(?:cesky|v cestine)\b(?! (?:s (?!tebou|vami)|v |do |na |kdyz))"
    r"|\bodpovim (?:ti |vam )?(?:jen )?(?:cesky|v cestine)",
    r"\b(?:asa )?cum (?:mi-)?(?:ai|ati) (?:cerut|solicitat)\b|\bconform (?:instructiun|cereri)",
    r"\b(?:voi|trebuie sa|o sa|am sa) (?:(?:va|iti|doar|numai|acum|mereu) )*(?:vorbi|vorbesc|raspunde|raspund"
    r"|scrie|scriu) (?:(?:doar|numai|acum) )*(?:(?:in )?(?:limba )?romana|romaneste)\b"
    r"(?! (?:cu (?!tine|dumn)|la |in |cand))",
    r"\bahogy (?:kerted|kerte|kertek)\b|\baz utasitas\w* (?:szerint|megfeleloen)",
    r"\b(?:(?:csak |mostantol )*magyarul (?:fogok |kell )(?:beszelni|beszelnem|valaszolni|valaszolnom|irni)"
    r"|(?:fogok|kell) magyarul (?:beszelni|valaszolni)|(?:beszelnem|valaszolnom) kell magyarul"
    r"|magyarul valaszolok)",
    r"\bistediginiz gibi,|\btalimat\w* (?:gore|uyarak|dogrultusunda)",
    r"\bturkce (?:olarak )?(?:konusacagim|cevap verecegim|yanit verecegim|yanitlayacagim|yazacagim"
    r"|konusmaliyim|konusmam (?:gerek|lazim)|cevap vermeliyim|cevap vermem gerek)",
)
# Folding replaces final sigma and short i, so these letters are not as people type them.
OTHER_SCRIPTS = (
    r"\bοπωσ (?:μου )?ζητησ|\bσυμφωνα με τισ οδηγιεσ",
    r"\b(?:θα|πρεπει να) (?:σασ |σου )?(?:μιλησω|μιλαω|απαντησω|απανταω|γραψω) (?:μονο )?(?:στα )?"
    "ελληνικα(?! (?:με (?!εσ)|στ|οταν))",
    r"\bкак (?:вы|ты) (?:и )?(?:по)?(?:просил|велел)|\bсогласно (?:вашим |твоим )?(?:инструкци|указани)"
    r"|\bпо (?:вашеи|твоеи) просьбе",
    r"\b(?:буду|должен|должна|обязан) (?:(?:теперь|только|всегда|вам|тебе|с вами|с тобои) )*(?:говорить"
    "|отвечать|писать) (?:(?:теперь|только|вам|тебе) )*(?:по-русски|на русском)"
    r"(?! (?:с (?!вами|тобои)|на |в |дома))|\bотвечу (?:вам |тебе )?(?:по-русски|на русском)",
    "(?:按照?|根据|遵照)(?:您|你|我)?的?(?:要求|指示|指令)|如(?:您|你)所要求",
    "我(?:会|将|要|必须|只能|应该|得)(?:只|现在|一直|从现在起|开始)*用(?:中文|汉语|普通话)(?:来)?(?:回答|回复|答复"
    "|和(?:您|你)|与(?:您|你)|跟(?:您|你))",
    r"\b(?:теперь|отныне) (?:я )?(?:отвечаю|говорю|пишу) (?:вам |тебе )?(?:только )?"
    r"(?:по-русски|на русском)",
    "从现在(?:开始|起),?我?(?:会|将|要)?(?:只|都)?(?:说|讲|用)(?:中文|汉语|普通话)",
    "(?:これから|今から)は?、?日本語で",
    "我(?:会|将|要|必须|得|应该)(?:只|现在|一直)*(?:说|讲)(?:中文|汉语|普通话)(?=[,.!。，！]|$)",
    "(?:ご指示|ご要望|ご依頼)(?:の通り|どおり|通り|に従|により)",
    "日本語で(?:お答え|答え|回答|お返事|返信)(?:し|いた|さ|ます|なければ|る必要)|日本語で話さなければ",
    "(?:요청|지시|말씀)하신 ?대로|지시(?:에 따라|대로)|지침에 따라",
    "한국어로(?:만)? (?:대답|답변|답|말|이야기|말씀)(?:하겠|해야|드리겠|드릴게|할게|할 것)",
)

LATIN_LANGUAGES = (
    *FRENCH,
    *SPANISH,
    *GERMAN,
    *ITALIAN,
    *PORTUGUESE,
    *DUTCH,
    *NORTHERN,
    *EASTERN,
)
