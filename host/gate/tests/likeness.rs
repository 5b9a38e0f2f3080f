//! Which statements say the same, nearly the same, and something else.

use keepsake_gate::{Likeness, Statement};

#[track_caller]
fn assert_all(expected: Likeness, pairs: &[(&str, &str)]) {
    let wrong: Vec<_> = pairs
        .iter()
        .flat_map(|(one, other)| [(one, other), (other, one)])
        .filter_map(|(one, other)| {
            let found = Statement::new(one).likeness(&Statement::new(other));
            (found != expected).then(|| format!("{found:?}: {one:?} and {other:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_says_nothing_more_is_the_same() {
    assert_all(
        Likeness::Same,
        &[
            // Case, punctuation, blanks, spelling of characters.
            ("Jordan likes tea", "jordan likes tea"),
            ("Jordan likes tea", "Jordan likes tea."),
            ("Jordan likes tea", "  Jordan  likes\ttea! "),
            ("JORDAN LIKES TEA", "Jordan likes tea"),
            (
                "Jordan drinks café crème",
                "Jordan drinks cafe\u{301} cre\u{300}me",
            ),
            ("Jordan’s plan is Pro", "Jordan's plan is Pro"),
            ("Jordan paid \u{ff11}\u{ff12} euros", "Jordan paid 12 euros"),
            ("The ﬁle is gone", "The file is gone"),
            ("Jordan asked: where is it?", "Jordan asked where is it"),
            (
                "Jordan likes tea, cake and jam",
                "Jordan likes tea; cake and jam",
            ),
            ("Jordan prefers \"dark mode\"", "Jordan prefers dark mode"),
            // Words that say nothing.
            ("Jordan is on the Pro plan", "Jordan's on Pro plan"),
            ("Jordan really likes tea", "Jordan likes tea"),
            (
                "Jordan said that the app crashes",
                "Jordan said the app crashes",
            ),
            ("Jordan is currently on Pro", "Jordan is on Pro"),
            (
                "Please call Jordan in the morning",
                "call Jordan in the morning",
            ),
            // Word forms and other spellings of one word.
            ("Jordan prefers e-mail", "Jordan prefers email"),
            ("The invoice goes to Oslo", "The invoices go to Oslo"),
            ("Jordan wants weekly reports", "Jordan wants weekly report"),
            ("Jordan doesn't eat meat", "Jordan does not eat meat"),
            ("Jordan can't log in", "Jordan cannot log in"),
            ("They won’t renew", "They will not renew"),
            // Numbers as they are written.
            ("The limit is 1,000 seats", "The limit is 1000 seats"),
            ("Order #1234 is late", "Order 1234 is late"),
            ("😀", "😀"),
        ],
    );
}

#[test]
fn what_says_nearly_the_same_is_for_someone_to_decide() {
    assert_all(
        Likeness::Near,
        &[
            // The same words in another time, order or joining.
            ("Jordan lives in Oslo", "Jordan lived in Oslo"),
            (
                "Jordan called support on order 1234",
                "Jordan calls support on order 1234",
            ),
            (
                "Jordan prefers invoices via email",
                "Jordan prefers invoices by email",
            ),
            ("Jordan has a blocked account", "Jordan, account blocked"),
            (
                "In the morning Jordan drinks tea",
                "Jordan drinks tea in the morning",
            ),
            (
                "Jordan and her team like dark mode",
                "Jordan and their team like dark mode",
            ),
            // A name, or more than one of it.
            ("Adams like tea", "Adam likes tea"),
            // A slip of the pen, another country's spelling.
            (
                "Jordan transferred the licence",
                "Jordan transfered the licence",
            ),
            (
                "Jordan has a cancelled contract",
                "Jordan has a canceled contract",
            ),
            // One word more in many.
            (
                "The export button crashes the app on login",
                "The blue export button crashes the app on login",
            ),
            (
                "Jordan prefers email invoices with attachments",
                "Jordan prefers email invoices with small attachments",
            ),
            (
                "Jordan asked support for a copy of the contract",
                "Jordan asked support for a printed copy of the contract",
            ),
            (
                "Jordan wants to receive invoices by email",
                "Jordan wants invoices by email",
            ),
        ],
    );
}

#[test]
fn what_differs_in_what_counts_is_different() {
    assert_all(
        Likeness::Different,
        &[
            // Numbers, identifiers, addresses, sums.
            ("Order 1234 is late", "Order 1243 is late"),
            ("Order A-1042 is late", "Order A-1043 is late"),
            (
                "Jordan pays 30 euros a month",
                "Jordan pays 300 euros a month",
            ),
            ("Jordan has version 1.2", "Jordan has version 1.2.1"),
            ("Jordan has version 1.2", "Jordan has version 12"),
            ("It is -5 degrees", "It is 5 degrees"),
            ("The discount is 5%", "The discount is 5"),
            ("The fee is $5", "The fee is €5"),
            ("Write to jo@example.com", "Write to joe@example.com"),
            ("Write to jo@example.com", "Write to jo@example.org"),
            ("The error is E_TIMEOUT", "The error is E_TIMEDOUT"),
            ("The file is /etc/hosts", "The file is /etc/host"),
            ("Jordan has two seats", "Jordan has three seats"),
            ("Jordan has seats", "Jordan has two seats"),
            ("Call Jordan at 10:30", "Call Jordan at 11:30"),
            ("Jordan ordered 12 3 times", "Jordan ordered 1 23 times"),
            // Denial.
            ("Jordan likes tea", "Jordan does not like tea"),
            ("Jordan likes tea", "Jordan doesn't like tea"),
            ("Jordan is on Pro", "Jordan is no longer on Pro"),
            ("Jordan eats meat", "Jordan never eats meat"),
            ("Jordan can log in", "Jordan can't log in"),
            (
                "Jordan drinks coffee with milk",
                "Jordan drinks coffee without milk",
            ),
            (
                "Jordan mag den grünen Tee sehr",
                "Jordan mag den grünen Tee nicht sehr",
            ),
            // Names.
            ("Jordan likes tea", "Taylor likes tea"),
            ("Invoices go to Oslo", "Invoices go to Bergen"),
            ("Alice owes Bob money", "Bob owes Alice money"),
            (
                "Jordan moved from Oslo to Bergen",
                "Jordan moved from Bergen to Oslo",
            ),
            ("Jordan asked Adam for help", "Jordan asked Adams for help"),
            ("Jordan works in IT", "Jordan works in it"),
            (
                "Jordan ships boxes to the US every week",
                "Jordan ships boxes to us every week",
            ),
            (
                "Jordan wants all invoices sent by post",
                "Jordan wants all Acme invoices sent by post",
            ),
            // Direction, time, degree.
            ("Call Jordan before noon", "Call Jordan after noon"),
            (
                "Jordan turned the alerts on",
                "Jordan turned the alerts off",
            ),
            (
                "Jordan moved to the old office",
                "Jordan moved from the old office",
            ),
            (
                "Jordan prefers tea over coffee",
                "Jordan prefers coffee over tea",
            ),
            ("Jordan was on Pro", "Jordan is on Pro"),
            ("Jordan will be on Pro", "Jordan is on Pro"),
            ("Jordan always pays late", "Jordan sometimes pays late"),
            ("All seats are taken", "Some seats are taken"),
            ("The meeting is on Monday", "The meeting is on Tuesday"),
            // Another word.
            ("Jordan likes tea", "Jordan likes coffee"),
            ("The app crashes on login", "The app crashes on logout"),
            (
                "Alerts are enabled for the whole team",
                "Alerts are disabled for the whole team",
            ),
            (
                "The price may increase next year",
                "The price may decrease next year",
            ),
            ("Jordan has a cat", "Jordan has a black cat"),
            ("Jordan prefers email", "Jordan prefers email for invoices"),
            // Nothing but signs.
            ("!!!", "???"),
            ("😀", "😡"),
            ("", "Jordan"),
        ],
    );
}

#[test]
fn a_value_is_the_same_in_other_words_around_it() {
    let names = ["Jordan", "plan"];
    let same = |one: &str, other: &str| {
        Statement::new(one).gives_same_value(&Statement::new(other), &names)
    };
    for (one, other) in [
        ("Jordan is on the Pro plan", "Jordan's plan is Pro"),
        ("plan: Pro", "Jordan is on Pro"),
        ("Jordan has the Team 5 plan", "The plan of Jordan is Team 5"),
    ] {
        assert!(same(one, other) && same(other, one), "{one:?} {other:?}");
    }
    for (one, other) in [
        ("Jordan is on Free", "Jordan is on Pro"),
        ("Jordan is on Team 5", "Jordan is on Team 6"),
        ("Jordan is on Pro", "Jordan is not on Pro"),
        ("Jordan is on Pro", "Jordan was on Pro"),
        ("Jordan is on Pro", "Jordan wants Pro"),
        ("Jordan has a plan", "The plan of Jordan"),
    ] {
        assert!(!same(one, other), "{one:?} {other:?}");
    }
}

#[test]
fn statements_that_are_not_different_share_a_telling_word() {
    for (one, other) in [
        ("Adams like tea", "Adam likes tea"),
        (
            "Jordan transferred the licence",
            "Jordan transfered the licence",
        ),
        (
            "The export button crashes the app on login",
            "The blue export button crashes the app on login",
        ),
    ] {
        for (one, other) in [(one, other), (other, one)] {
            let statement = Statement::new(one);
            let telling = statement.telling_words();
            let shares = telling
                .iter()
                .any(|word| other.to_lowercase().contains(word.trim_end_matches('s')));
            assert!(shares, "{telling:?} of {one:?} and {other:?}");
        }
    }
    assert_eq!(
        Statement::new("Order A-1042 is late").telling_words(),
        ["a-1042"]
    );
}

#[test]
fn likeness_holds_both_ways_and_no_text_makes_it_panic() {
    let pieces = [
        "Jordan", "not", "1,2", "''", "-", "é", "e\u{301}", "東京", "$", ".", "n't", "A-1", "ß",
        "\u{200b}", "'s", "İ", "@", "…", "the", "tea",
    ];
    let mut state = 0x9e37_79b9_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    for _ in 0..3_000 {
        let mut text = || {
            let count = next() % 8;
            (0..count)
                .map(|_| pieces[next() % pieces.len()])
                .collect::<Vec<_>>()
                .join(if next() % 4 == 0 { "" } else { " " })
        };
        let (one, other) = (text(), text());
        let (one, other) = (Statement::new(&one), Statement::new(&other));
        assert_eq!(one.likeness(&other), other.likeness(&one));
        assert_eq!(one.likeness(&one), Likeness::Same);
    }
}

#[test]
fn a_long_text_is_the_same_only_but_for_case_and_punctuation() {
    let long = |end: &str| format!("{} {end}", "word and tea ".repeat(40));
    let one = Statement::new(&long("lives"));
    assert_eq!(
        one.likeness(&Statement::new(&long("Lives."))),
        Likeness::Same
    );
    assert_eq!(
        one.likeness(&Statement::new(&long("lived"))),
        Likeness::Different
    );
    assert!(one.telling_words().is_empty());
}
