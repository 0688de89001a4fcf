"""Words that give a language away: articles, pronouns, prepositions, auxiliaries, courtesies.

Languages that are alone in their script have none: the script decides. A word may
stand in several lists; what two languages share tells nothing of the two. Danish and
Norwegian, which share most of these, have everyday words besides that they spell apart.
"""

from __future__ import annotations

_LISTS = {
    "en": (
        "the a an and or but if then than that this these those there here it its it's is are was "
        "were be been being am i i'm i've i'll i'd you your yours you're you've he she we they them "
        "their his her my me our us him not no yes of to in on at by for from with without about "
        "into over under after before between through during while because as so such what which "
        "who whom whose when where why how all any each every some many much more most other "
        "another only just also very too can could will would shall should may might must do does "
        "did don't doesn't didn't can't won't isn't aren't have has had having let's that's there's "
        "please thank thanks hello like love think know want need get make made use used out up "
        "down off again still always never often now one two first new good great well both either "
        "neither own same once until yet however though although maybe perhaps really sure course "
        "would've using following already available enter choose here's we're they're who's name "
        "number time day days people thing things find give go see say tell come look help try ask "
        "page text list valid"
    ),
    "fr": (
        "l' d' qu' n' j' s' c' m' le la les un une des du de et ou où mais donc or ni car que qui "
        "quoi dont quel quelle quels quelles ce cet cette ces c'est ça cela ceci il elle ils elles "
        "on je j'ai tu nous vous me te se s'il lui leur leurs mon ma mes ton ta tes son sa ses "
        "notre nos votre vos est sont était étaient être été suis es sommes êtes ai as a avons avez "
        "ont avait avoir eu sera serait peut peuvent peux pouvez pourrait doit doivent devez fait "
        "faire faites ne n'est n'a pas plus moins jamais rien aucun aucune tout toute tous toutes "
        "chaque quelque quelques plusieurs même autre autres très trop peu beaucoup bien mal aussi "
        "encore déjà toujours souvent maintenant ici là sur sous dans en par pour avec sans entre "
        "vers chez depuis pendant avant après contre comme si quand lorsque parce puisque afin "
        "ainsi alors puis au aux à y qu'il qu'elle d'un d'une n'y j'aime j'adore aime voici voilà "
        "merci bonjour oui non ceux celui celle celles vraiment veuillez lors selon seront nouveau "
        "nouvelle chacun bon bonne deux fois vais va allons nom jour jours exemple travers veut "
        "chose choses personne personnes possible temps impossible"
    ),
    "es": (
        "el la los las un una unos unas de del al a y e o u pero sino ni que qué quien quién cual "
        "cuál cuyo este esta esto estos estas ese esa eso esos esas aquel aquella ello él ella "
        "ellos ellas yo tú usted ustedes nosotros me te se le les lo nos os mi mis tu tus su sus "
        "nuestro nuestra nuestros nuestras es son era eran ser sido soy eres somos está están "
        "estaba estoy estar estás fue fueron hay había ha han he has haber hacer hace hecho tiene "
        "tienen tengo tener puede pueden puedo puedes poder debe deben debería no sí nunca nada "
        "nadie ningún ninguna todo toda todos todas cada algún alguna algunos algunas otro otra "
        "otros otras mismo misma muy más menos mucho mucha muchos muchas poco bien también tampoco "
        "aún ya siempre ahora aquí allí donde dónde cuando cuándo como cómo por para con sin sobre "
        "entre desde hasta hacia según durante antes después porque aunque si así entonces gracias "
        "hola gusta encanta solo sólo tan tanto mientras luego además quiero en favor gran buen "
        "bueno buena cualquier ambos sea será serán pudo vez veces va voy vamos siguiente "
        "siguientes nuevo nueva nombre uno día días ejemplo través quiere cosa cosas persona "
        "personas posible trabajo tiempo mediante"
    ),
    "pt": (
        "o a os as um uma uns umas de do da dos das no na nos nas num numa ao à aos às pelo pela "
        "pelos pelas em e ou mas nem que quem qual quais cujo este esta isto estes estas esse essa "
        "isso esses essas aquele aquela aquilo ele ela eles elas eu tu você vocês nós me te se lhe "
        "lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos é são era eram ser "
        "sido sou somos está estão estava estou estar foi foram há havia tem têm tenho temos ter "
        "fazer faz feito pode podem posso poder deve devem deveria não sim nunca nada ninguém "
        "nenhum nenhuma tudo todo toda todos todas cada algum alguma alguns algumas outro outra "
        "outros outras mesmo mesma muito muita muitos muitas pouco mais menos bem também ainda já "
        "sempre agora aqui ali onde quando como por para com sem sobre entre desde até durante "
        "antes depois porque embora assim então obrigado obrigada olá gosto adoro apenas só tão "
        "tanto enquanto além quero dele dela deles neste nesta nesse nessa deste desta desse dessa "
        "favor bom boa qualquer ambos seja será serão vez vezes vai vou vamos seguinte seguintes "
        "novo nova abaixo acima gosta for nome dois duas dia dias exemplo através quer coisa coisas "
        "pessoa pessoas possível trabalho tempo após irá"
    ),
    "it": (
        "l' dell' all' nell' sull' dall' un' d' c' quest' il lo la i gli le un uno una di del dello "
        "della dei degli delle a al allo alla ai agli alle da dal dallo dalla dai dagli dalle in "
        "nel nello nella nei negli nelle con su sul sullo sulla sui sugli sulle per tra fra e ed o "
        "oppure ma né che chi cui quale quali quello quella quelli quelle questo questa questi "
        "queste ciò egli lui lei loro noi voi io tu mi ti si ci vi ne mio mia miei mie tuo tua tuoi "
        "suo sua suoi sue nostro nostra vostro è sono era erano essere stato stata sei siamo siete "
        "sia ho hai ha abbiamo avete hanno avere avuto fare fa fatto può possono posso puoi "
        "potrebbe deve devono devi non no sì mai niente nulla nessun nessuno nessuna tutto tutta "
        "tutti tutte ogni qualche alcuni alcune altro altra altri altre stesso stessa molto molta "
        "molti molte poco più meno bene anche ancora già sempre adesso ora qui qua lì là dove "
        "quando come perché se così allora grazie ciao piace solo soltanto mentre poi inoltre dopo "
        "prima senza sotto sopra fino verso durante quindi però vorrei ad viene vengono verrà "
        "verranno stati state buon buono buona qualsiasi entrambi volta volte vado andiamo seguente "
        "seguenti nuovo nuova sarà saranno dell all nell sull dall quest nome due giorno giorni "
        "esempio attraverso vuole cosa cose persona persone possibile lavoro tempo caso"
    ),
    "nl": (
        "de het een en of maar want dat die dit deze wat wie welke waar wanneer hoe waarom ik je "
        "jij u hij zij ze wij we jullie hen hun mij me mijn jouw uw zijn haar ons onze is was waren "
        "wees geweest ben bent heb hebt heeft hebben had hadden wordt worden werd word kan kunnen "
        "kunt kon moet moeten mag mogen zal zullen zou zouden wil willen doen doet gedaan gaat gaan "
        "niet geen nee ja nooit niets niemand alles alle elke elk ieder iedere sommige andere ander "
        "zelfde meer minder veel weinig heel erg zeer te ook nog al altijd nu hier daar er op in "
        "aan bij met zonder voor na van naar uit over onder tussen door tegen tot sinds tijdens "
        "omdat als dan toen dus om zoals terwijl hoewel indien graag bedankt hallo goed wel maken "
        "maakt houd hou vind vooral misschien soms vaak wilt gebruikt alleen volgende nieuwe toe "
        "voer opnieuw mogelijk eigen iets iemand laat beide"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer eines und oder aber sondern denn dass "
        "daß was wer wen wem welche welcher welches wo wann wie warum ich du er sie es wir ihr mich "
        "dich sich uns euch mir dir ihm ihn ihnen mein meine meinen meiner dein deine sein seine "
        "seinen seiner ihre ihren ihrem ihrer unser unsere ist sind war waren sei bin bist gewesen "
        "habe hast hat haben hatte hatten wird werden wurde wurden worden kann können könnte konnte "
        "muss müssen muß soll sollte sollten darf dürfen will wollen möchte mag machen macht "
        "gemacht geht gehen nicht kein keine keinen nein ja nie nichts niemand alles alle allen "
        "jede jeder jedes einige andere anderen anderer dieser diese dieses diesem diesen mehr "
        "weniger viel viele sehr zu auch noch schon immer jetzt hier dort da auf in im am an bei "
        "mit ohne für nach von vom zum zur aus über unter zwischen durch gegen bis seit während "
        "weil wenn als dann also um so damit obwohl falls gern gerne danke hallo gut nur wieder "
        "bitte doch vielleicht oft ob vor beim neue neuen bereits sollen geben gibt dies zwei beide "
        "beiden eigene dabei dafür"
    ),
    "sv": (
        "en ett den det de dem och eller men för att som vad vem vilken vilket vilka var när hur "
        "varför jag du han hon vi ni mig dig sig oss er min mitt mina din ditt dina sin sitt sina "
        "vår vårt våra hans hennes deras är vara varit har hade haft ha blir bli blev blivit kan "
        "kunde måste ska skall skulle vill ville får fick göra gör gjort går gå inte ingen inget "
        "inga nej ja aldrig ingenting alla allt varje någon något några andra annan annat samma mer "
        "mera mindre mycket många få bara också även ännu redan alltid nu här där på i av med utan "
        "från till om under mellan genom mot sedan innan efter därför eftersom så då medan fast "
        "antingen gärna tack hej bra väldigt dock denna detta dessa kanske ofta tycker gillar "
        "älskar eget egen vid hos åt upp ner ut in lite tillbaka sist sista nästa fram liksom "
        "känner säger ta tar ge ger låta sätta lägga välja hitta hjälp hjälpa vecka kvinna väg "
        "språk bok mat härlig riktig viktig olika hela första följande används sådan vänligen glad "
        "trevligt finns kommer bort endast än fel bruk använd använda krävs betyder båda längre "
        "fortfarande minst eventuellt namn"
    ),
    "da": (
        "en et den det de dem og eller men for at som der hvad hvem hvilken hvilket hvilke hvor "
        "hvornår hvordan hvorfor jeg du han hun vi i mig dig sig os jer min mit mine din dit dine "
        "sin sit sine vores jeres hans hendes deres er var være været har havde haft have bliver "
        "blive blev blevet kan kunne må måtte skal skulle vil ville får fik få gøre gør gjort går "
        "gå gået ikke ingen intet nej ja aldrig ingenting alle alt hver hvert nogen noget nogle "
        "andre anden andet samme mere mindre meget mange kun også endnu allerede altid nu her på af "
        "med uden fra til om under mellem gennem mod siden før efter derfor fordi så da mens enten "
        "gerne tak hej godt dog denne dette disse måske ofte synes elsker lide egen eget ved hos op "
        "ned ud ind over hvis når blot igen bruge bruger bedes venligst lidt tilbage sidst sidste "
        "næste frem imod ligesom kender siger tage tager give giver lade sætte lægge vælge finde "
        "hjælp hjælpe uge mand kvinde vej sprog bog mad dejlig rigtig vigtig forskellig hele første "
        "følgende bruges glad rigtigt særlig nødvendigt ligger holder hjem end fejl brug brugt "
        "findes kræver betyder begge længere forkert stadig ligeledes udelukkende maksimalt adgang "
        "besked billede billeder spørgsmål forskel gade kage bøger arbejde arbejder penge køb købe "
        "købt sælge tænke tænker tænkt aften uger efterår vejr dreng pige ven kat mælk vand æble "
        "smag smager farve grøn hvid sort let svært hurtigt kold smuk sjov sjovt træt syg bange "
        "lave laver lavet kigge læse læser læst rejse rejser rejst vælger sætter lægger fortælle "
        "fortæl fortæller måde lande hænder hoved øjne øje høj høje arbejdet dejligt vigtigt "
        "alligevel hverken desværre netop lige ret hende sådan sådanne hellere bedst begynde "
        "begynder kendt kende hedder sidder skifte skift tryk tjek log slet gem opdater indtast "
        "hjælper hjalp"
    ),
    "nb": (
        "en et ei den det de dem og eller men for å at som hva hvem hvilken hvilket hvilke hvor når "
        "hvordan hvorfor jeg du han hun vi dere meg deg seg oss min mitt mine din ditt dine sin "
        "sitt sine vår vårt våre hans hennes deres er var være vært har hadde hatt ha blir bli ble "
        "blitt kan kunne må måtte skal skulle vil ville får fikk få gjøre gjør gjort går gå gått "
        "ikke ingen intet nei ja aldri ingenting alle alt hver hvert noen noe andre annen annet "
        "samme mer mindre mye mange kun bare også ennå allerede alltid nå her der på av med uten "
        "fra til om under mellom gjennom mot siden før etter derfor fordi så da mens enten gjerne "
        "takk hei bra godt veldig imidlertid denne dette disse kanskje ofte synes liker elsker egen "
        "eget ved hos opp ned ut inn over hvis igjen bruke bruker vennligst litt tilbake sist siste "
        "neste fram frem imot liksom kjenner sier ta tar gi gir la sette legge velge finne hjelp "
        "hjelpe uke mann kvinne vei språk bok mat deilig riktig viktig forskjellig hele første "
        "følgende brukes slik slike heller ligger holder hjem enn feil bruk brukt finnes krever "
        "betyr begge lenger gitt fortsatt vanligvis minst noensinne tilgang melding bilde bilder "
        "spørsmål forskjell gate kake bøker arbeid arbeider penger kjøp kjøpe kjøpt selge tenke "
        "tenker tenkt kveld uker høst vær gutt jente venn katt melk vann eple smak smaker farge "
        "grønn hvit svart lett vanskelig raskt kald vakker morsom morsomt trøtt syk redd lage lager "
        "laget kikke lese leser lest reise reiser reist velger setter legger fortelle fortell "
        "forteller måte land hender hode øyne øye høy høye arbeidet galt likevel verken dessverre "
        "nettopp akkurat ganske henne best begynne begynner kjent kjenne heter sitter bytte bytt "
        "trykk sjekk logg slett lagre rett oppdater oppgi hjelper hjalp været"
    ),
    "fi": (
        "ja tai mutta että joka jotka mikä mitä kuka missä milloin miten miksi minä sinä hän me te "
        "he minun sinun hänen meidän teidän heidän minua sinua minulla sinulla se ne tämä nämä tuo "
        "nuo sen sitä tämän tätä siinä siitä on ovat oli olivat olla ollut olen olet olemme olette "
        "ei en et emme ette eivät ole voi voit voin voivat voisi pitää täytyy saa saada tehdä tekee "
        "kun jos kuin niin myös vielä jo aina nyt täällä tässä siellä kanssa ilman ennen jälkeen "
        "mukaan kautta sekä eli vain hyvin paljon vähän enemmän kaikki jokainen joitakin muut muu "
        "toinen sama kiitos hei kyllä koska vaikka sitten siis ehkä usein todella pidän rakastan "
        "tykkään joten jonka jossa josta johon jotta sinulle minulle ovatko onko alla tällä tällöin "
        "avulla joita ota anna käytä käyttää voidaan tulee oleva olevat tästä näin hyvä uusi olisi "
        "silloin kuitenkin"
    ),
    "pl": (
        "i oraz lub albo ale że żeby aby który która które którzy której którego których co kto "
        "gdzie kiedy jak dlaczego ja ty on ona ono my wy oni one mnie mi ciebie ci cię go jego jej "
        "ich im nas nam was wam się mój moja moje twój twoja twoje swój swoje nasz nasza to ten ta "
        "te tego tej tych tym tą jest są był była było były być będzie będą jestem jesteś jesteśmy "
        "mam masz ma mamy mają może mogą można mogę możesz musi trzeba należy nie tak nigdy nic "
        "nikt wszystko wszystkie wszystkich każdy każda każde niektóre inne inny innych sam sama "
        "więcej mniej bardzo dużo mało też także jeszcze już zawsze teraz tu tutaj tam w we z ze na "
        "do od dla po przy przez przed pod nad między bez o u za czy jeśli jeżeli ponieważ więc gdy "
        "tylko dziękuję cześć dobrze lubię często proszę chociaż aż niż jako je a został została "
        "zostały zostało poniżej podczas chcesz musisz by bym nowy nowa"
    ),
    "cs": (
        "a i nebo ale že aby který která které kteří kterou kterého kterých co kdo kde kdy jak proč "
        "já ty on ona ono my vy oni mě mně mi tebe tě ho jeho její jejich jim nás nám vás vám se si "
        "můj moje má mé tvůj své svůj svou náš naše to ten ta tento tato toto tyto této tohoto "
        "těchto je jsou byl byla bylo byly být bude budou jsem jsi jsme jste mám máš máme mají může "
        "mohou lze můžete můžu musí musíte ne ano nikdy nic nikdo všechno všechny všech každý každá "
        "každé některé jiné jiný více méně velmi moc mnoho málo také ještě už již vždy vždycky teď "
        "nyní zde tady tam v ve z ze na do od pro po při přes před pod nad mezi bez o u za s k ke "
        "zda pokud když protože proto tedy jen pouze děkuji ahoj dobře rád ráda často prosím ačkoli "
        "než není nejsou nelze jako podle by váš vaše níže následující nové žádné žádný pomocí "
        "tomto tuto tím nebyl nebyla budete"
    ),
    "ro": (
        "și şi sau dar iar că ce care cine unde când cum de eu tu el ea noi voi ei ele mă te se ne "
        "vă îi îl o le lui lor mi ți îmi îți își meu mea mei mele tău ta său sa nostru noastră un "
        "una unei unui niște al ale cel cea cei cele acest această acesta aceasta acestea acești "
        "acel este e sunt era erau fi fost sunteți suntem ești am ai are avem aveți au avea poate "
        "pot puteți putea trebuie nu da niciodată nimic nimeni niciun nicio tot toate toți fiecare "
        "unele alte altă alt mai puțin mult multe mulți foarte prea deja încă mereu întotdeauna "
        "acum aici acolo în din la pe cu fără pentru prin după înainte între sub peste despre spre "
        "până dacă deoarece astfel atunci doar numai mulțumesc bună place bine des deși decât ca să "
        "dintre într-o într-un printr-un dumneavoastră a va vor fie ar s-a poți rugăm veți v-ați "
        "nou nouă există asupra acestui acestei acestor către nume două doi zi zile exemplu vrea "
        "lucru lucruri persoană timp posibil"
    ),
    "hu": (
        "a az egy és vagy de hogy ami amely aki akik melyik mi ki hol mikor hogyan miért én te ő ti "
        "ők engem téged őt nekem neked neki nekünk ez ezt azt ezek azok ennek annak ebben abban "
        "erre arra ezen azon van vannak volt voltak lenni lesz lesznek vagyok vagyunk nem nincs "
        "nincsenek nincsen igen soha semmi senki minden mindig egyes néhány más másik ugyanaz több "
        "kevesebb nagyon sok kevés is még már most itt ott ha akkor mert mivel ezért csak kell "
        "kellene lehet tud tudok tudsz szeretem szeretek szeretnék köszönöm szia jó jól gyakran "
        "talán közben alatt után előtt között nélkül szerint által illetve amikor mint meg el be "
        "fel le összes új további következő való lévő számára például olyan így úgy ehhez ezzel "
        "lett legyen ön önnek kérjük ide oda"
    ),
    "tr": (
        "ve veya ya ama fakat ki bu şu o bunlar şunlar onlar ben sen biz siz bana sana ona bize "
        "size beni seni onu bizi sizi benim senin onun bizim sizin onların bir her bazı tüm bütün "
        "hiç hiçbir ne kim hangi nerede zaman nasıl neden niçin var yok değil evet hayır mi mı mu "
        "mü da de daha çok az en gibi kadar için ile olarak olan oldu olur olması olmalı olmalıdır "
        "olabilir olmak edilir edildi edin etmek eder sonra önce şimdi burada orada içinde üzerinde "
        "arasında altında göre karşı doğru eğer ise çünkü böyle şöyle sadece yalnızca teşekkürler "
        "teşekkür merhaba iyi güzel seviyorum severim lütfen belki bazen hala henüz zaten hem "
        "birçok kendi diğer başka aynı ancak tarafından yeni herhangi aşağıdaki yukarıdaki geçerli "
        "yerine ilgili iki tek değildir vardır yoktur bunu buna bunun üzere ait oldukça bugün"
    ),
}
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in _LISTS.items()
}
"""ISO 639-1 code -> words in small letters, with the accents that they are spelt with."""

_LETTERS = {
    "en": "",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "es": "áéíñóúü",
    "pt": "áâãàçéêíóôõúü",
    "it": "àèéìíîòóùú",
    "nl": "áéëïóöüĳèê",
    "de": "äöüß",
    "sv": "åäöé",
    "da": "æøåé",
    "nb": "æøåéòôó",
    "fi": "äöåšž",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "ro": "ăâîșțşţ",
    "hu": "áéíóöőúüű",
    "tr": "çğıöşüâîû",
}
LETTERS: dict[str, frozenset[str]] = {code: frozenset(found) for code, found in _LETTERS.items()}
"""ISO 639-1 code -> letters beyond a to z that its own words are spelt with."""
