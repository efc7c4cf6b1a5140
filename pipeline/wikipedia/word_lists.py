"""Words by which Wikipedias, in their languages, mark what is not prose.

Link prefixes, section titles, templates and redirect words, all in lower case. They are
listed for many languages, and all of them are recognised in every dump: its
``<siteinfo>`` has only its own canonical namespaces, but articles also use aliases and
the English names, and a bare ``<page>`` has no siteinfo at all.
"""

from unicodedata import normalize


def names_of(block: str) -> frozenset[str]:
    """The names of a block, separated by a bar or line ends.

    >>> sorted(names_of("a | b c" + chr(10) + "d"))
    ['a', 'b c', 'd']
    """
    # MediaWiki stores NFC, an editor of this file may not.
    names = (name.strip() for name in normalize("NFC", block).splitlines())
    names = (name for line in names for name in line.split(" | "))
    return frozenset(name for name in names if name)


# Namespaces 6 (File, with its old name Image), -2 (Media) and 14 (Category).
HIDDEN_PREFIXES = names_of("""
file | image | media | category | cat | lêer | beeld | kategorie | datei | bild
medium | ملف | صورة | وسائط | تصنيف | файл | выява | выявы | изображение | медиа
медия | картинка | мультимедиа | категория | катэгорыя | категорія | зображення
медіа | fitxer | imatge | categoria | archivo | imagen | categoría | ficheru | imaxe
archivu | ficheiro | arquivo | imagem | arquivu | multimedia | soubor | obrázek
súbor | obrázok | kategória | média | fil | billede | bilde | kategori | fichier
catégorie | datoteka | slika | kategorija | kategoreja | medij | medija | mediji
датотека | слика | категорија | медијум | plik | grafika | obraz | kategoria
kategorio | dosiero | aliaĵo | kat | pilt | fail | fails | attēls | attels | vaizdas
vaizd | kategooria | fitxategi | irudi | tiedosto | kuva | luokka | fájl | kép
bestand | afbeelding | categorie | fișier | fişier | imagine | immagine | αρχείο
εικόνα | κατηγορία | μέσο | dosya | resim | kateqoriya | şəkil | fayl | ulam | tasvir
turkum | сурет | санат | сүрөт | рәсем | төркем | ӳкерчĕк | категори | пайл | файли
гурӯҳ | акс | պատկեր | կատեգորիա | ֆայլ | մեդիա | ფაილი | სურათი | კატეგორია | მედია
פייל | קובץ | תמונה | קטגוריה | מדיה | טעקע | בילד | קאטעגאריע | קאַטעגאָריע | پرونده
تصویر | رده | مدیا | فائل | زمرہ | وسیط | تصنیف | گٹھ | دوتنه | وېشنيزه | فایل | شکل
بؤلمه | پۆل | پەڕگە | وێنە | فاۡیِل | زٲژ | تصوير | رسم | شڪل | عڪس | चित्र | श्रेणी
संचिका | वर्ग | मीडिया | तस्वीर | फाइल | छवि | চিত্র | বিষয়শ্রেণী | ছবি | মিডিয়া
শ্রেণী | ফাইল | ਤਸਵੀਰ | ਸ਼੍ਰੇਣੀ | ਫ਼ਾਈਲ | ચિત્ર | શ્રેણી | ଫାଇଲ | ଶ୍ରେଣୀ | படிமம்
பகுப்பு | ஊடகம் | దస్త్రం | బొమ్మ | ఫైలు | వర్గం | ಚಿತ್ರ | ವರ್ಗ | ಫೈಲ್ | പ്രമാണം
ചിത്രം | വർഗ്ഗം | ගොනුව | රූපය | ප්‍රවර්ගය | ไฟล์ | ภาพ | หมวดหมู่ | ไฟล | ຮູບ | ໝວດ
ໄຟລ໌ | ဖိုင် | ကဏ္ဍ | រូបភាព | ឯកសារ | ចំណាត់ថ្នាក់ក្រុម | tập tin | hình | thể loại
phương tiện | berkas | gambar | barkas | payl | talaksan | larawan | kaurian
kategorya | gipang | 画像 | ファイル | メディア | カテゴリ | 文件 | 图像 | 图片 | 檔案
圖像 | 圖片 | 档案 | 媒体文件 | 媒體檔案 | 分类 | 分類 | 类别 | 파일 | 그림 | 분류
미디어 | 미디어파일 | skrá | mynd | flokkur | bólkur | íomhá | catagóir | faidhle
roinn-seòrsa | delwedd | categori | restr | rummad | skeudenn | fisier | catigoria
imådje | categoreye | fichièr | imachen | kategorî | wobraz | dataja | зураг | ангилал
ажәа | акатегориа | ныв | хуызæ | категорислаш | категорийы | ойуу | билэ
""")

# Wikipedia's language codes. As the prefix of a link, one means another language.
LANGUAGE_CODES = names_of("""
aa | ab | ace | ady | af | ak | als | alt | am | ami | an | ang | ann | anp | ar | arc
ary | arz | as | ast | atj | av | avk | awa | ay | az | azb | ba | ban | bar | bat-smg
bbc | bcl | bdr | be | be-tarask | be-x-old | bew | bg | bh | bi | bjn | blk | bm | bn
bo | bpy | br | bs | btm | bug | bxr | ca | cbk-zam | cdo | ce | ceb | ch | cho | chr
chy | ckb | co | cr | crh | cs | csb | cu | cv | cy | cz | da | dag | de | dga | din
diq | dk | dsb | dtp | dty | dv | dz | ee | el | eml | en | eo | epo | es | et | eu
ext | fa | fat | ff | fi | fiu-vro | fj | fo | fon | fr | frp | frr | fur | fy | ga
gag | gan | gcr | gd | gl | glk | gn | gom | gor | got | gpe | gu | guc | gur | guw
gv | ha | hak | haw | he | hi | hif | ho | hr | hsb | ht | hu | hy | hyw | hz | ia
id | ie | ig | igl | ii | ik | ilo | inh | io | is | it | iu | ja | jam | jbo | jp
jv | ka | kaa | kab | kbd | kbp | kcg | kg | kge | ki | kj | kk | kl | km | kn | knc
ko | koi | kr | krc | ks | ksh | ku | kus | kv | kw | ky | la | lad | lb | lbe | lez
lfn | lg | li | lij | lld | lmo | ln | lo | lrc | lt | ltg | lv | lzh | mad | mai
map-bms | mdf | mg | mh | mhr | mi | min | minnan | mk | ml | mn | mni | mnw | mo
mos | mr | mrj | ms | mt | mus | mwl | my | myv | mzn | na | nah | nan | nap | nb
nds | nds-nl | ne | new | ng | nia | nl | nn | no | nov | nqo | nr | nrm | nso | nv
ny | oc | olo | om | or | os | pa | pag | pam | pap | pcd | pcm | pdc | pfl | pi | pih
pl | pms | pnb | pnt | ps | pt | pwn | qu | rm | rmy | rn | ro | roa-rup | roa-tara
rsk | ru | rue | rup | rw | sa | sah | sat | sc | scn | sco | sd | se | sg | sgs | sh
shi | shn | si | simple | sk | skr | sl | sm | smn | sn | so | sq | sr | srn | ss | st
stq | su | sv | sw | szl | szy | ta | tay | tcy | tdd | te | tet | tg | th | ti | tig
tk | tl | tly | tn | to | tpi | tr | trv | ts | tt | tum | tw | ty | tyv | udm | ug
uk | ur | uz | ve | vec | vep | vi | vls | vo | vro | wa | war | wo | wuu | xal | xh
xmf | yi | yo | yue | za | zea | zgh | zh | zh-cfr | zh-classical | zh-cn | zh-hans
zh-hant | zh-min-nan | zh-tw | zh-yue | zu
""")

# Titles of the sections after an article: references, notes, sources, further reading,
# see also, external links. `paragraphs.is_apparatus` takes joined titles apart.
APPARATUS_TITLES = names_of("""
references | reference | list of references | notes | note | footnotes | footnote
endnotes | explanatory notes | citations | cited works | works cited
literature cited | cited literature | cited sources | cited references
inline citations | sources | primary sources | secondary sources | other sources
bibliography | select bibliography | selected bibliography | general bibliography
further reading | additional reading | suggested reading | recommended reading
reading list | general references | general sources | specific references
other references | see also | related articles | related topics | external links
external link | external sources | external resources | external references
other links | weblinks | web links | official sites | related pages | other websites
other pages | online sources | online resources | on-line resources | web sources
sources cited | einzelnachweise | einzelnachweis | anmerkungen | anmerkung | fußnoten
fussnoten | belege | nachweise | quellen | quellenangaben | literatur | weblink
siehe auch | weiterführende literatur | verweise | quellennachweise | externe links
références | réferences | références et notes | notes et références | bibliographie
voir aussi | liens externes | lien externe | articles connexes | article connexe
lectures complémentaires | pour approfondir | annexes | liens internes
autres projets | referencias | referencia | notas | notas al pie | véase también
vea también | ver también | enlaces externos | enlace externo | bibliografía
bibliografia | lecturas adicionales | lectura adicional | fuentes
notas y referencias | otros proyectos | bibliografía adicional | enlaces relacionados
enlaces | referències | notes i referències | vegeu també | enllaços externs
enllaç extern | referèncias | ligams extèrnes | véxase tamén | ligazóns externas
enllaces esternos | ver tamién | referencies | véase tamién | vinclos externos
se veiga tamién | ligações externas | ligação externa | ver também | referências
referência | referências bibliográficas | fontes | leitura adicional
leituras adicionais | notas e referências | veja também | leitura | note e riferimenti
riferimenti | fonti | voci correlate | voce correlata | altri progetti
collegamenti esterni | bibliografia essenziale | vedi anche
riferimenti bibliografici | referenzie | referințe | referinţe | bibliografie
legături externe | vezi și | vezi şi | lectură suplimentară | surse | referenties
referentie | bronnen | bron | noten | voetnoten | literatuur | externe link | zie ook
bronvermelding | bronnen, noten en referenties | verwysings | eksterne skakels
eksterne skakel | sien ook | bronne | verdere leesstof | bronnelys
notas en verwysings | referenser | referens | källor | källa | fotnoter
externa länkar | se även | se också | litteratur | vidare läsning | källhänvisningar
tryckta källor | webbkällor | anmärkningar | allmänna källor | referencer | kilder
kilde | kilder og henvisninger | eksterne henvisninger | eksterne links | se også
henvisninger | fodnoter | yderligere læsning | eksterne lenker | eksterne lenkjer
referansar | referanser | bakgrunnsstoff | sjå òg | kjelder | kjelde | lenker
trykte kilder | ekstern henvisning | heimildir | tilvísanir | tenglar | tengill
tengt efni | neðanmálsgreinar | heimild | ytri tenglar | keldur | slóðir | ávísingar
lähteet | lähde | viitteet | viite | aiheesta muualla | katso myös | kirjallisuutta
kirjallisuus | huomautukset | ulkoiset linkit | lisätietoa | muualla verkossa | viited
viide | välislingid | vaata ka | kirjandus | allikad | märkused | viitteed
lisaks lugemist | atsauces | ārējās saites | skatīt arī | literatūra | piezīmes
avoti | zemsvītras piezīmes | šaltiniai | išnašos | nuorodos | taip pat skaitykite
pastabos | bibliografija | nūruodis | avoti i pīzeimis | verīs taipoš | ari verīs
przypisy | przypis | uwagi | linki zewnętrzne | zobacz też | literatura | źródła
literatura uzupełniająca | linki | przypisy i uwagi | odnośniki | poznámky
externí odkazy | související články | odkazy | zdroje | viz též | viz také
použitá literatura
referencie | externé odkazy | pozri aj | iné projekty | zdroj | referencie a poznámky
literatúra | poznámky a referencie | ďalšie čítanie | sklici | opombe | viri
zunanje povezave | glej tudi | izvori | vanjske poveznice | vanjski linkovi | vidi još
povezani članci | bilješke | napomene | spoljašnje veze | vidi i | poveznice
također pogledajte | vanjske veze | референце | спољашње везе | види још | литература
извори | напомене | белешке | види исто така | надворешни врски | наводи | поврзано
поврзани статии | белешки | поврзани теми | литература и извори | користена литература
бележки | източници | външни препратки | вижте също | бележки и източници
използвана литература | препратки | допълнителна литература | цитирани източници
примечания | примечание | ссылки | ссылка | источники | источник | см. также
смотри также | комментарии | сноски | библиография | внешние ссылки | интернет-ресурсы
дополнительная литература | использованная литература | рекомендуемая литература
цитируемая литература | примітки | джерела | джерело | посилання | література
див. також | дивись також | виноски | зовнішні посилання | коментарі | бібліографія
зноски | дивіться також | джерела та література | додаткова література
джерела інформації | інтернет-ресурси | рекомендована література | основна література
використана література | крыніцы | спасылкі | літаратура | гл. таксама
глядзіце таксама | заўвагі | зноскі | вонкавыя спасылкі | глядзець таксама
искәрмәләр | искәрмә | һылтанмалар | әҙәбиәт | шулай уҡ ҡарағыҙ | сығанаҡтар | әдәбият
сылтамалар | чыганаклар | дереккөздер | сілтемелер | пайдаланған әдебиет
тағы қараңыз | әдебиет | шилтемелер | эзоҳ | пайвандҳо | адабиёт | манбаъ | эзоҳҳо
пайвандҳои беруна | források | forrás | jegyzetek | jegyzet | megjegyzések | lásd még
további információk | irodalom | külső hivatkozások | külső linkek
kapcsolódó szócikkek | ajánlott irodalom | hivatkozások | további olvasnivaló
felhasznált irodalom | kaynakça | kaynaklar | kaynak | notlar | dipnotlar
dış bağlantılar | ayrıca bakınız | bakınız | konuyla ilgili yayınlar | ek okumalar
kaynakça ve notlar | dış bağlantı | istinadlar | xarici keçidlər | həmçinin bax
mənbə | ədəbiyyat | qeydlər | manbalar | havolalar | adabiyotlar | yana qarang
izohlar | erreferentziak | kanpo estekak | ikus, gainera | oharrak | erreferentzia
gehiago irakurtzeko | oharrak eta erreferentziak | daveoù | notennoù | liammoù diavaez
gwelet ivez | levrlennadur | lennadurezh | diavaez | cyfeiriadau | dolenni allanol
gweler hefyd | llyfryddiaeth | nodiadau | ffynonellau | tagairtí | naisc sheachtracha
féach freisin | iomraidhean | ceanglaichean | faic cuideachd | referencoj | notoj
eksteraj ligiloj | vidu ankaŭ | bibliografio | literaturo | fontoj | piednotoj | fonto
ligiloj | aliaj projektoj | referi | extera ligili | videz anke | nexus externi
vide etiam | notae | bibliographia | nexus interni | plura legere si cupis
annotationes | vedite pure | referenze | noti | αναφορές | παραπομπές | πηγές
σημειώσεις | εξωτερικοί σύνδεσμοι | δείτε επίσης | βιβλιογραφία | υποσημειώσεις
εξωτερικές συνδέσεις | σχετικές δημοσιεύσεις | εξωτερικός σύνδεσμος | δικτυογραφία
επιπλέον ανάγνωση | περαιτέρω ανάγνωση | προτεινόμενη βιβλιογραφία
επιλεγμένη βιβλιογραφία | ελληνική βιβλιογραφία | σχετική βιβλιογραφία
ξενόγλωσση βιβλιογραφία | παραπομπές - σημειώσεις | ξένη βιβλιογραφία
ελληνόγλωσση βιβλιογραφία | πρόσθετη βιβλιογραφία | ծանոթագրություններ
ծանոթագրություն | արտաքին հղումներ | արտաքին հղում | գրականություն | աղբյուրներ
նշումներ | տես նաև | տես նաեւ | հղումներ | մատենագրություն | կարդալ նաև | սքոլիաներ
հետագա ընթերցման համար | ծանօթագրութիւններ | աղբիւրներ | արտաքին յղումներ | სქოლიო
ლიტერატურა | რესურსები ინტერნეტში | იხილეთ აგრეთვე | გარე ბმულები | შენიშვნები
მითითებები | წყაროები | ბიბლიოგრაფია | הערות שוליים | לקריאה נוספת | קישורים חיצוניים
ראו גם | הערות | ביבליוגרפיה | מקורות | ראה גם | קישור חיצוני | רעפערענצן | זעט אויך
רעפֿערענצן | וועבלינקען | דרויסנדע לינקען | مراجع | المراجع | مصادر | المصادر
وصلات خارجية | انظر أيضا | انظر أيضًا | انظر أيضاً | هوامش | ملاحظات | روابط خارجية
ببليوغرافيا | قراءة إضافية | اقرأ أيضا | اقرأ أيضًا | مصادر ومراجع | هوامش ومراجع
طالع أيضا | المراجع والمصادر | ملاحظات ومراجع | شوف كمان | لينكات | لينكات برانيه
پانویس | منابع | جستارهای وابسته | پیوند به بیرون | پانوشت | پیوندهای بیرونی
یادداشت‌ها | یادداشت | برای مطالعهٔ بیشتر | ارجاعات | پی‌نوشت | مطالعهٔ بیشتر
پانویس‌ها | کتاب‌شناسی | نگارخانه | حوالہ جات | بیرونی روابط | مزید دیکھیے
مزید دیکھئے | مزید پڑھیے | سرچشمے | بارلے جوڑ | ہور ویکھو | حوالے | سەرچاوەکان
قایناقلار | سرچینې | بهرنۍ تړنې | حوالا | ٻاهريان ڳنڌڻا | پەراوێزەکان
بەستەرە دەرەکییەکان | सन्दर्भ | संदर्भ | बाहरी कड़ियाँ | बाहरी कड़ियां
इन्हें भी देखें | टिप्पणी | स्रोत | टिप्पणियाँ | सन्दर्भ ग्रन्थ | यह भी देखें
ग्रन्थसूची | आगे पढ़ें | पठनीय | संदर्भ आणि नोंदी | बाह्य दुवे | हेही पाहा
संदर्भ यादी | हे सुद्धा पहा | सन्दर्भहरू | बाह्य सूत्र | यो पनि हेर्नुहोस् | लिङ्कहरू
बाह्य लिङ्कहरू | सन्दर्भ सामग्रीहरू | सन्दर्भसूची | তথ্যসূত্র | বহিঃসংযোগ | আরও দেখুন
আরো দেখুন | টীকা | পাদটীকা | গ্রন্থপঞ্জি | গ্রন্থপঞ্জী | উৎস | আরও পড়ুন | আরো পড়ুন
উদ্ধৃতি | বহি:সংযোগ | বহিঃ সংযোগ | মন্তব্য | সূত্র | সূত্রসমূহ | গ্রন্থসূত্র
সহায়ক গ্রন্থ | পাদটিকা | রচনাপঞ্জি | তথ্যসূত্রসমূহ | উৎসপঞ্জি | গ্রন্থ তালিকা
টীকা ও তথ্যসূত্র | উল্লেখপঞ্জি | অতিরিক্ত পঠন | অধিক পঠন | ਹਵਾਲੇ | ਬਾਹਰੀ ਲਿੰਕ
ਬਾਹਰਲੇ ਲਿੰਕ | ਇਹ ਵੀ ਵੇਖੋ | ਇਹ ਵੀ ਦੇਖੋ | ਬਾਹਰੀ ਕੜੀਆਂ | સંદર્ભ | બાહ્ય કડીઓ | આ પણ જુઓ
ମୂଳ ଆଧାର | ଆଧାର | ବାହାର ତଥ୍ୟ | ବାହାର ଆଧାର | மேற்கோள்கள் | வெளி இணைப்புகள்
வெளியிணைப்புகள் | இவற்றையும் பார்க்க | உசாத்துணை | உசாத்துணைகள் | குறிப்புகள்
சான்றுகள் | மேலும் பார்க்க | ஆதாரங்கள் | మూలాలు | బయటి లింకులు | బయటి లంకెలు
ఇవి కూడా చూడండి | వనరులు | ಉಲ್ಲೇಖಗಳು | ಬಾಹ್ಯ ಸಂಪರ್ಕಗಳು | ಇವನ್ನೂ ನೋಡಿ
ಹೊರಗಿನ ಸಂಪರ್ಕಗಳು | ಆಕರಗಳು | ಬಾಹ್ಯ ಕೊಂಡಿಗಳು | ಹೊರಗಿನ ಕೊಂಡಿಗಳು | ಟಿಪ್ಪಣಿಗಳು
ಪರಾಮರ್ಶನಗಳು | അവലംബം | പുറത്തേക്കുള്ള കണ്ണികൾ | ഇതും കാണുക | കുറിപ്പുകൾ | ഗ്രന്ഥസൂചി
പുറം കണ്ണികൾ | മേമ്പൊടി | ආශ්‍රිත | මූලාශ්‍ර | බාහිර සබැඳි | อ้างอิง | แหล่งข้อมูลอื่น
ดูเพิ่ม | หมายเหตุ | เชิงอรรถ | บรรณานุกรม | อ่านเพิ่ม | เว็บไซต์ | รายการอ้างอิง
แหล่งข้อมูล | หนังสืออ่านเพิ่มเติม | ເອກະສານອ້າງອີງ | ឯកសារយោង | មើលផងដែរ | ကိုးကား
ပြင်ပလင့်များ | ကိုးကားချက်များ | tham khảo | chú thích | liên kết ngoài | xem thêm
đọc thêm | nguồn tham khảo | ghi chú | thư mục | tài liệu tham khảo | liên kết
tài liệu | nguồn | sách tham khảo | chú giải | nguồn trích dẫn | thư mục tham khảo
chú thích và tham khảo | danh mục tham khảo | nguồn thứ cấp | nguồn sơ cấp | trích dẫn
thư mục hàn lâm | rujukan | referensi | pranala luar | lihat pula | lihat juga
catatan kaki | bacaan lanjutan | daftar pustaka | bacaan lebih lanjut | kepustakaan
sumber | bibliografi | pautan luar | pautan luaran | bacaan lanjut | nota kaki
sumber rujukan | pustaka | rujukan dan catatan | rujukaning | pranala njaba | talababa
sanggunian | mga sanggunian | tingnan din | mga kawing panlabas | basahin din
panlabas na kawing | mga pakisayran | mga sumpay ha gawas | mga reperensya
mga panlabas na link | 脚注 | 脚註 | 注釈 | 註釈 | 出典 | 参考文献 | 参考資料
関連項目 | 外部リンク | 関連文献 | 関連書籍 | 注 | 参照 | 注記 | 引用 | 出典・脚注
引用文献 | 関連図書 | 関連リンク | 脚注・出典 | 関連資料 | 主な参考文献 | 参照文献
文献 | 注・出典 | 文献情報 | 脚注および参照 | 参考書籍 | 推薦文献 | 書誌情報
邦語文献 | 欧文文献 | 注解 | 参考资料 | 参见 | 參見 | 参看 | 參看 | 外部链接
外部鏈接 | 外部連結 | 外部连结 | 外部鏈結 | 注释 | 註釋 | 注釋 | 註解 | 延伸阅读
延伸閱讀 | 相关条目 | 相關條目 | 参考 | 參考 | 參考文獻 | 參考資料 | 備註 | 备注
资料来源 | 資料來源 | 來源 | 来源 | 腳註 | 腳注 | 扩展阅读 | 擴展閱讀 | 相关链接
書目 | 书目 | 註 | 連接 | 链接 | 相關連結 | 각주 | 같이 보기 | 외부 링크 | 바깥 고리
참고 문헌 | 참고문헌 | 참조 | 주석 | 출처 | 내용주 | 참고 자료 | 더 읽어보기
읽을거리 | 출처주 | 참조주 | 함께 보기 | 참고 | 외부링크 | 관련 항목 | marejeo
viungo vya nje | tazama pia | tanbihi | awọn itọkasi | àwọn ìtọ́kasí | manazarta
ማጣቀሻ | ዋቢ | የውጭ ማያያዣዎች | ማመዛገቢያ | цахим холбоос | мөн үзэх | ашигласан материал
lidhje të jashtme | shiko edhe | referime | burimet | shih edhe | referenca | burime
lidhje | bixwîne | jêder | çavkanî | girêdanên derve | binêre | referénsi | weblenke
nootas | ferwizings | boarnen, noaten en referinsjes | sjoch ek | keppelings om utens
literatuer | kwelle | oanmerkings | quälle | fuessnote | luëg au | fueßnote
literatur und quellen | referenzen | kuckt och | ligams externes | vejatz tanben
ligams extèrns | referéncias | colegamenti esterni | culligamenti esterni | ootlins
fit-notes | soorces | external airtins | see an aa | see forby | airtins
""")

# Those that also name something that an article tells of: the literature of a country,
# the sources of a play.
SUBJECT_TITLES = names_of("""
sources | primary sources | secondary sources | other sources | literatur | quellen
fuentes | fonti | fontes | surse | literatuur | bronnen | litteratur | källor | kilder
kjelder | heimildir | bókmentir | kirjallisuus | kirjallisuutta | lähteet | kirjandus
allikad | literatūra | avoti | šaltiniai | literatura | źródła | literatúra | zdroje
književnost | izvori | viri | литература | література | літаратура | источники | джерела
источници | извори | irodalom | források | edebiyat | kaynaklar | ədəbiyyat | adabiyot
literaturo | fontoj | πηγές | գրականություն | ლიტერატურა | 文献 | 参考
""")

# A page that carries one of these is a list of meanings, not an article.
DISAMBIGUATION_TEMPLATES = names_of("""
disambig | disambiguation | disamb | dab | disambiguation page | hndis | geodis
human name disambiguation | place name disambiguation | school disambiguation
disambiguation cleanup | disambig-cleanup | numberdis | letter-number combination
letter-number combination disambiguation | hospital disambiguation | mil-unit-dis
begriffsklärung | bkl | begriepskloorenge | begriffsklearung | mehrdüdig begreep
homonymie | toponymie | paronymie | homonymes | page d'homonymie | desambiguación
desambiguacion | desambig | desambiguação | desambiguació | desambigua
desambiguacions | homónimos | homonimo | omonimia | dixebra | desambigación
disambigua | disambìgua | dixanbigua | omonimeye | dezambiguizare | dezambig
doorverwijspagina | dp | dpintro | disambiguasi | dubbelsinnig | neibetsjuttings
förgrening | förgreningssida | gren | grensida | flertydig | fleirtyding | peker
aðgreining | fleiri týdningar | täsmennyssivu | täsmennys | täpsustuslehekülg
täpsustus | nozīmju atdalīšana | nuorodinis | zeimu atdaleišona | ujednoznacznienie
disambigr | rozcestník | rozlišovacia stránka | razločitev | razdvojba
višeznačna odrednica | čvor | вишезначна одредница | вишезначна | појаснување
пояснение | неоднозначность | многозначность | disambig-ru | багатозначність
disambig-uk | неадназначнасць | неадназначнасьць | күп мәғәнәлелек | күпмәгънәлелек
айрық | көп маънолук | ибҳомзудоӣ | нийлэг утга | салаа утгатай | egyért
egyértelműsítő lap | egyértelműsítő | anlam ayrımı | anlam ayrım | dəqiqləşdirmə
argipen | disheñvelout | gwahaniaethu | idirdhealú | soilleireachadh | clerheans
apartigilo | diferencigo | discretiva | kthjellim | αποσαφήνιση | αποσαφ
բազմիմաստություն | բազմիմաստ | փարատում | მრავალმნიშვნელოვანი | არაორაზროვანი
פירושונים | פירוש נוסף | באדייטן | توضيح | صفحة توضيح | ابهام‌زدایی | ابهام زدایی
ضدابہام | ضد ابہام | گنجلک | ڕوونکردنەوە | बहुविकल्पी शब्द | बहुविकल्पी
नि:संदिग्धीकरण | निःसंदिग्धीकरण | बहुअर्थी | দ্ব্যর্থতা নিরসন | দ্ব্যর্থতা নিরসন পাতা
ਗੁੰਝਲਖੋਲ੍ਹ | ಬಹುವಿಷಯ | വിവക്ഷകൾ | నానార్థాలు | பக்கவழி நெறிப்படுத்தல்
வழிநெறிப்படுத்தல் | แก้กำกวม | định hướng | trang định hướng | nyahkekaburan
paglilinaw | 曖昧さ回避 | aimai | 人名の曖昧さ回避 | 地名の曖昧さ回避 | 消歧义
消歧義 | 消歧义页 | 消歧義頁 | 동음이의 | 동음이의어 문서 | 동명이인 | 동음이의어
""")

DISAMBIGUATION_WORDS = names_of("""
__disambig__ | __begriffsklärung__ | __توضيح__ | __täpsustus__ | __homonymie__
__homónimos__ | __동음이의__ | __појаснување__ | __消歧义__ | __消歧義__
__ابهام‌زدایی__
""")

REDIRECT_WORDS = names_of("""
redirect | weiterleitung | redirection | redirección | redireccion | redirecció
rinvia | rinvio | rimando | redirecionamento | redirecionar | doorverwijzing
omdirigering | omdirigiar | omdiriger | viderestilling | omdirigiering | tilvísun
tilvisun | ohjaus | uudelleenohjaus | patrz | przekieruj | přesměruj | presmeruj
preusmeritev | preusmjeri | preusmeri | преусмери | пренасочување | виж | пренасочване
перенаправление | перенапр | перенаправлення | перанакіраваньне | перанакіраванне
айдау | юнәлтү | átirányítás | yönlendirme | yönlendi̇rme | yönləndirmə
istiqamətləndirmə | bizaşazîkirin | birzuzendu | adkas | ail-cyfeirio | athsheoladh
ath-sheòladh | seòladh | alidirektu | alidirekti | redirekcio | ridirettu
redirecteaza | redirectează | ανακατευθυνση | ανακατεύθυνση | վերահղում
გადამისამართება | הפניה | ווייטערפירן | تحويل | تغییر_مسیر | تغییرمسیر | رجوع مکرر
رجوع_مکرر | पुनर्प्रेषित | अनुप्रेषित | पुनर्निर्देशन | পুনর্নির্দেশ | પુનર્દિશાન
ਰੀਡਿਰੈਕਟ | ਰੀਡਾਇਰੈਕਟ | வழிமாற்று | దారిమార్పు | ದಾರಿಮಾರ್ಪು | തിരിച്ചുവിടുക
เปลี่ยนทาง | đổi | đổihướng | đổi hướng | alih | lencong | arahkan | 転送
リダイレクト | 重定向 | 넘겨주기
""")
