//! The texts that providers are asked with.

/// A statement, one that says nearly the same, and one about something else.
/// Those that belong together share words too, so that a provider that only
/// knows spelling passes.
pub(super) const TRIPLES: [[&str; 3]; 6] = [
    [
        "The parcel was delivered on Monday.",
        "On Monday the parcel was delivered to the neighbour.",
        "Our band plays jazz in a small club.",
    ],
    [
        "Jordan is on the Pro plan.",
        "Jordan upgraded to the Pro plan.",
        "Tomatoes grow behind the garden shed.",
    ],
    [
        "The printer jams with thick paper.",
        "Thick paper makes the printer jam.",
        "She finished a marathon despite heavy rain.",
    ],
    [
        "He is allergic to peanuts.",
        "Peanuts make him ill, since he is allergic.",
        "Our flight waited for spare parts.",
    ],
    [
        "The invoice for March is not paid.",
        "The March invoice was not paid.",
        "A quartet closed our evening with waltzes.",
    ],
    [
        "Two sisters inherit a lighthouse.",
        "A lighthouse is inherited by two sisters.",
        "Reset your password on our sign-in page.",
    ],
];

/// Questions, each answered by the first statement of the triple at its place.
pub(super) const QUESTIONS: [&str; 6] = [
    "When was the parcel delivered?",
    "Which plan is Jordan on?",
    "What does the printer do with thick paper?",
    "Is he allergic to peanuts or anything else?",
    "Which invoice is not paid?",
    "What do the two sisters inherit?",
];

/// Characters that take several bytes, and several of them for one sign.
pub(super) const EMOJI: [&str; 4] = ["🎈", "👩‍👩‍👧‍👦 a family", "naïve café 🏳️‍🌈", "e\u{301}🇩🇪"];

/// Arabic, Hebrew, both with Latin words, and the marks that turn the direction.
pub(super) const RIGHT_TO_LEFT: [&str; 4] = [
    "العميل مشترك في خطة برو",
    "הלקוח נמצא בתוכנית פרו",
    "Jordan مشترك في Pro",
    "\u{202e}abc\u{202c} \u{200f}def",
];

/// Texts with the character that ends a text in C.
pub(super) const NUL: [&str; 3] = ["before\0after", "\0", "end\0"];

/// A text of at least a megabyte, of ordinary words.
pub(super) fn megabyte() -> String {
    const BYTES: usize = 1024 * 1024;
    let mut text = String::with_capacity(BYTES + 128);
    for number in 0.. {
        if text.len() >= BYTES {
            break;
        }
        text.push_str(TRIPLES[number % TRIPLES.len()][0]);
        text.push_str(&format!(" Order {number} is on its way. "));
    }
    text
}

/// So many short texts, no two alike.
pub(super) fn many(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| {
            let statement = TRIPLES[number % TRIPLES.len()][number % 3];
            format!("Customer {number}: {statement}")
        })
        .collect()
}

pub(super) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
