//! Word lists. Each is small on purpose: what is not listed is not understood,
//! and what is not understood is not kept.

/// What may stand before a statement without changing it.
pub(crate) const FILLERS: &[&str] = &[
    "hi", "hello", "hey", "hiya", "there", "team", "support", "everyone", "folks", "dear", "sir",
    "madam", "good", "morning", "afternoon", "evening", "day", "thanks", "thank", "you", "please",
    "yes", "yeah", "yep", "no", "ok", "okay", "so", "well", "also", "and", "but", "oh", "actually",
    "just", "btw", "fyi", "by", "the", "way", "today", "yesterday", "now", "again", "sorry", "then",
    "plus", "anyway",
];

/// What makes the rest of a sentence something other than the customer's own
/// assertion: a condition, a wish, or what someone else says.
pub(crate) const OPENERS: &[&str] = &[
    "if", "when", "whenever", "unless", "suppose", "supposing", "imagine", "assume", "assuming",
    "pretend", "once", "until", "before", "after", "maybe", "perhaps", "in", "should", "would",
    "could", "let's", "lets", "according", "whether", "although", "though", "as",
];

/// Who reports what someone else said.
pub(crate) const REPORTS: &[&str] = &[
    "say", "says", "said", "saying", "tell", "tells", "told", "claim", "claims", "claimed", "wrote",
    "writes", "think", "thinks", "thought", "thinking", "believe", "believes", "believed",
    "example", "e.g", "instance", "insists", "shows", "reads", "wish", "heard", "assumed",
    "dreamed",
];

/// Phrases that take back what was said before them in the sentence.
pub(crate) const HEDGES: &[&str] = &[
    " i think ", " i guess ", " i believe ", " maybe ", " perhaps ", " not sure ", " probably ",
    " i thought ", " kidding ", " joking ", " supposedly ", " i hope ", " hopefully ", " or not ",
    " i suppose ", " apparently ", " possibly ", " i assume ", " allegedly ",
];

/// Words that leave it open whether a change took place.
pub(crate) const DOUBTS: &[&str] = &[
    " not ", " didn't ", " doesn't ", " don't ", " isn't ", " wasn't ", " hasn't ", " haven't ",
    " failed ", " fails ", " declined ", " never ", " nothing ", " can't ", " cannot ",
    " couldn't ", " won't ", " back to ", " unless ", " if ", " until ", " still ",
];

/// What begins a question, with or without a question mark.
pub(crate) const QUESTION_WORDS: &[&str] = &[
    "what", "what's", "whats", "which", "who", "who's", "whose", "whom", "when", "when's", "where",
    "where's", "why", "how", "how's", "am", "is", "are", "was", "were", "do", "does", "did", "can",
    "could", "will", "would", "should", "shall", "may", "have", "has", "had", "isn't", "aren't",
    "don't", "didn't", "doesn't", "haven't", "hasn't", "can't", "won't",
];

/// Names that plans go by. Without the word `plan` only these count as one:
/// "I upgraded to Windows 11" is about something else.
pub(crate) const TIERS: &[&str] = &[
    "free", "basic", "starter", "lite", "standard", "plus", "pro", "professional", "premium",
    "business", "team", "teams", "enterprise", "personal", "family", "individual", "growth",
    "ultimate", "max", "gold", "silver", "bronze", "platinum", "student",
];

/// Words for a plan.
pub(crate) const PLAN_WORDS: &[&str] = &[
    "plan", "tier", "subscription", "package",
];

/// What may stand before `plan` without naming one.
pub(crate) const NO_PLAN_NAMES: &[&str] = &[
    "same", "wrong", "right", "old", "new", "current", "other", "different", "better", "best",
    "cheaper", "cheapest", "first", "this", "that", "which", "what", "higher", "lower", "highest",
    "lowest", "next", "correct", "it", "any", "no", "some", "another", "bigger", "smaller", "good",
    "expensive", "your", "our", "their", "his", "her", "paid", "to", "not", "payment",
];

/// Written with a capital and no name of a person.
pub(crate) const NO_NAMES: &[&str] = &[
    "a", "an", "the", "not", "on", "in", "at", "from", "still", "very", "so", "just", "also", "ok",
    "okay", "sorry", "happy", "unhappy", "angry", "sad", "glad", "sure", "unsure", "afraid", "new",
    "here", "back", "done", "fine", "good", "well", "ready", "stuck", "lost", "looking", "trying",
    "having", "using", "writing", "calling", "waiting", "interested", "unable", "able", "no",
    "never", "always", "really", "pretty", "too", "currently", "now", "already", "your", "my",
    "this", "that", "with", "without", "going", "getting", "being", "free", "busy", "pro",
    "premium", "american", "british", "english", "german", "french", "spanish", "italian", "dutch",
    "polish", "portuguese", "brazilian", "canadian", "australian", "irish", "scottish", "welsh",
    "swiss", "austrian", "danish", "swedish", "norwegian", "finnish", "russian", "ukrainian",
    "turkish", "greek", "indian", "chinese", "japanese", "korean", "mexican", "european", "african",
    "asian", "christian", "muslim", "jewish", "hindu", "buddhist", "catholic", "vegan",
    "vegetarian", "diabetic", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    "sunday", "january", "february", "april", "june", "july", "august", "september", "october",
    "november", "december", "tomorrow", "later", "maybe", "asap", "when", "if", "by", "anytime",
    "wrong", "right", "incorrect", "correct", "missing", "different", "private", "confidential",
    "important", "there", "unknown", "it", "what", "who", "all", "out", "up", "off", "only", "i",
    "excited", "disappointed", "frustrated", "confused", "worried", "annoyed", "shocked", "surprised",
    "delighted", "pleased", "tired", "upset", "furious", "concerned", "impressed", "satisfied",
    "dissatisfied", "grateful", "thankful", "curious", "sick", "late", "early", "called", "spelled", "spelt", "misspelled", "misspelt", "taken", "shown", "as", "for",
];

/// Languages that a customer may ask to be answered in.
pub(crate) const LANGUAGES: &[&str] = &[
    "english", "german", "french", "spanish", "italian", "dutch", "polish", "portuguese", "danish",
    "swedish", "norwegian", "finnish", "russian", "ukrainian", "turkish", "greek", "hindi",
    "chinese", "mandarin", "japanese", "korean", "arabic", "hebrew", "czech", "hungarian",
    "romanian", "vietnamese", "thai", "indonesian",
];

/// Ways of being reached.
pub(crate) const CHANNELS: &[&str] = &[
    "email", "e-mail", "emails", "e-mails", "emailed", "e-mailed", "mail", "phone", "phoned",
    "telephone", "call", "called", "calls", "text", "texts", "texted", "sms", "chat", "whatsapp",
    "letter", "post", "contacted", "reached",
];

/// Words of a question that do not say what it is about.
pub(crate) const NO_TOPICS: &[&str] = &[
    "what", "which", "who", "whom", "when", "where", "why", "how", "whose", "that", "this", "these",
    "those", "the", "and", "but", "for", "not", "you", "your", "yours", "are", "was", "were",
    "been", "being", "have", "has", "had", "having", "does", "did", "doing", "can", "could", "will",
    "would", "shall", "should", "may", "might", "must", "about", "with", "from", "into", "onto",
    "out", "now", "there", "here", "any", "some", "all", "just", "please", "thanks", "thank",
    "hello", "tell", "know", "remember", "remind", "again", "currently", "current", "right",
    "exactly", "mine", "still", "also", "get", "got", "give", "let", "see", "say", "ask",
    "question", "want", "need", "like", "myself", "much", "many", "long", "its", "it's", "i'm",
    "i've", "what's", "whats", "who's", "where's", "when's", "how's", "record", "recall",
    "customer", "user", "on", "in", "at", "to", "of", "by", "be", "is", "am", "do", "if", "or",
    "so", "me", "my", "we", "us", "up", "it", "as", "an", "no", "hi", "ok", "hey", "then", "than",
    "they", "them", "his", "her", "she", "he", "i", "a",
];
