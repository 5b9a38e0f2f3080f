use super::*;

/// Facts as they would be remembered of a customer called Jordan, and `key=value`
/// for what goes into the profile.
fn read_all(message: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in statements(message) {
        let attribute = statement.attribute;
        if attribute.in_profile() {
            let key = attribute.key().unwrap();
            found.push(format!(
                "{key}={}",
                statement.value.as_deref().unwrap_or("-")
            ));
        }
        if attribute.is_fact() {
            found.push(statement.content(Some("Jordan")));
        }
        assert!(
            message.contains(&statement.quote),
            "{:?} is no quote",
            statement.quote
        );
    }
    found
}

#[test]
fn plain_statements_are_understood() {
    let pro = "Jordan is on the Pro plan.";
    let free = "Jordan is on the Free plan.";
    let table: &[(&str, &[&str])] = &[
        (
            "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.",
            &[
                "name=Jordan",
                "plan=Pro",
                "Jordan is on the Pro plan. Upgraded on the 3rd.",
            ],
        ),
        ("I’m Jordan.", &["name=Jordan"]),
        ("Hello, my name is Jordan Lee", &["name=Jordan Lee"]),
        ("my name is jordan", &["name=jordan"]),
        (
            "My name's Ana-Maria O'Neil, thanks!",
            &["name=Ana-Maria O'Neil"],
        ),
        ("This is Jordan from Acme.", &["name=Jordan"]),
        ("Please call me Jo.", &["name=Jo"]),
        (
            "I am Zoë and I moved to Canada.",
            &["name=Zoë", "Jordan moved to Canada."],
        ),
        ("I'm Jordan, which plan am I on?", &["name=Jordan"]),
        ("I'm on the Free plan.", &["plan=Free", free]),
        ("I am currently on your Pro plan", &["plan=Pro", pro]),
        ("i'm on pro", &["plan=pro", "Jordan is on the pro plan."]),
        (
            "I'm on the Hobby Plus plan since May.",
            &["plan=Hobby Plus", "Jordan is on the Hobby Plus plan."],
        ),
        (
            "I'm a Premium customer.",
            &["plan=Premium", "Jordan is on the Premium plan."],
        ),
        ("I downgraded to Free", &["plan=Free", free]),
        (
            "Actually, I've just downgraded to the Free tier.",
            &["plan=Free", free],
        ),
        ("I upgraded to Pro yesterday!", &["plan=Pro", pro]),
        (
            "I upgraded from Free to Pro in March 2026.",
            &[
                "plan=Pro",
                "Jordan is on the Pro plan. Upgraded in March 2026.",
            ],
        ),
        ("I switched back to the Free plan.", &["plan=Free", free]),
        (
            "I moved to the Pro plan on 3 March.",
            &[
                "plan=Pro",
                "Jordan is on the Pro plan. Switched on 3 March.",
            ],
        ),
        (
            "I signed up for the Team plan.",
            &["plan=Team", "Jordan is on the Team plan."],
        ),
        ("I have the Pro plan.", &["plan=Pro", pro]),
        ("My plan is Pro.", &["plan=Pro", pro]),
        (
            "My subscription is now the Business tier",
            &["plan=Business", "Jordan is on the Business plan."],
        ),
        (
            "I upgraded to Pro but then downgraded to Free.",
            &["plan=Free", free],
        ),
        (
            "I upgraded to Pro. No, sorry, I'm on the Free plan.",
            &["plan=Free", free],
        ),
        (
            "I cancelled my subscription.",
            &["plan=-", "Jordan cancelled their subscription."],
        ),
        (
            "I canceled the Pro plan yesterday.",
            &["plan=-", "Jordan cancelled the Pro plan."],
        ),
        (
            "I cancelled my order A-17.",
            &["Jordan cancelled their order A-17."],
        ),
        (
            "I cancelled my subscription to the newsletter.",
            &["Jordan cancelled their subscription to the newsletter."],
        ),
        (
            "My order number is A-1042.",
            &["Jordan's order number is A-1042."],
        ),
        ("Order number: 48213", &["Jordan's order number is 48213."]),
        (
            "my order is #48213, and my ticket number is T/9",
            &[
                "Jordan's order number is 48213.",
                "Jordan's ticket number is T/9.",
            ],
        ),
        (
            "My account id is acme_77.",
            &["Jordan's account id is acme_77."],
        ),
        (
            "My email is jo.doe+x@example.co.uk.",
            &["email=jo.doe+x@example.co.uk"],
        ),
        (
            "My new e-mail address is jo@example.com, thanks",
            &["email=jo@example.com"],
        ),
        (
            "my phone number is +49 30 1234567",
            &["phone=+49 30 1234567"],
        ),
        (
            "I prefer email over phone.",
            &["Jordan prefers email over phone."],
        ),
        (
            "I'd prefer to be called in the morning, not at night.",
            &["Jordan prefers to be called in the morning, not at night."],
        ),
        (
            "I prefer dark chocolate in my box.",
            &["Jordan prefers dark chocolate in their box."],
        ),
        ("Please reply in German.", &["language=German"]),
        ("I prefer Spanish.", &["language=Spanish"]),
        ("I speak Polish.", &["Jordan speaks Polish."]),
        (
            "I moved to New York City last week.",
            &["Jordan moved to New York City."],
        ),
        ("I live in Oslo.", &["Jordan lives in Oslo."]),
        (
            "My order is late and I moved to Canada.",
            &["Jordan moved to Canada."],
        ),
        (
            "Thanks. I've moved to Lisbon, can you change my address?",
            &["Jordan moved to Lisbon."],
        ),
    ];
    for (message, wanted) in table {
        assert_eq!(read_all(message), *wanted, "{message}");
    }
}

#[test]
fn what_is_no_plain_statement_of_the_customer_gives_nothing() {
    let table = [
        "",
        "Hello!",
        "Which plan am I on?",
        "Am I on the Pro plan?",
        "am I on the Pro plan",
        "I'm on the Pro plan?",
        "I'm on the Pro plan, right?",
        "I'm on the Pro plan, aren't I?",
        "I'm on the Pro plan, is that correct?",
        "Did I upgrade to the Pro plan?",
        "What happens when I upgraded to the Pro plan?",
        "I did NOT upgrade to the Pro plan.",
        "I didn't upgrade to Pro.",
        "I have not upgraded to the Pro plan.",
        "I never upgraded to the Pro plan.",
        "I'm not on the Pro plan.",
        "I am no longer on the Pro plan.",
        "I was on the Pro plan.",
        "I used to be on the Pro plan.",
        "I'm not Jordan.",
        "My name is not Jordan.",
        "My name is misspelled on the invoice.",
        "My name is wrong.",
        "I'm Jordan's brother.",
        "I'm sorry.",
        "I'm Sorry.",
        "I'm German.",
        "I'M ANGRY",
        "i'm angry",
        "Call me tomorrow.",
        "Call me Monday.",
        "Call me back on Tuesday",
        "My wife upgraded to the Pro plan.",
        "My wife upgraded to the Pro plan and she is happy.",
        "My brother and I upgraded to the Pro plan.",
        "She said I'm on the Pro plan.",
        "She said \"I'm Jordan. I upgraded to the Pro plan.\"",
        "He told me, I'm on the Pro plan.",
        "> I'm Jordan. I upgraded to the Pro plan.",
        "Your site says: I'm on the Pro plan.",
        "According to your mail, I'm on the Pro plan.",
        "If I upgraded to the Pro plan, I'm on the Pro plan.",
        "Suppose I'm on the Pro plan.",
        "I want to upgrade to the Pro plan.",
        "I will upgrade to Pro on the 3rd.",
        "I would like to upgrade to the Pro plan.",
        "I might have upgraded to the Pro plan.",
        "I thought I upgraded to the Pro plan.",
        "I think I'm on the Pro plan.",
        "I'm on the Pro plan, I think.",
        "I upgraded to the Pro plan but it failed.",
        "I upgraded to Pro, just kidding.",
        "I tried to upgrade to the Pro plan.",
        "I'm on the wrong plan.",
        "I'm on the phone.",
        "I'm on the train to Oslo.",
        "I upgraded to Windows 11.",
        "I switched to Android.",
        "I have the Pro.",
        "My plan is to leave.",
        "My order number is missing.",
        "My order is late.",
        "My order is 3 days late.",
        "My email is broken.",
        "My phone is broken.",
        "I prefer not to say.",
        "I prefer it.",
        "I'd rather not.",
        "I moved to a new flat.",
        "I cancelled.",
        "I cancelled because I was angry.",
        "Jordan upgraded to the Pro plan.",
        "The customer is on the Pro plan.",
        "You are on the Pro plan.",
        "We upgraded to the Pro plan.",
    ];
    for message in table {
        assert_eq!(read_all(message), Vec::<String>::new(), "{message}");
    }
}

#[test]
fn without_a_name_the_fact_is_about_the_customer() {
    let found = statements("I'm on the Free plan.");
    assert_eq!(found[0].content(None), "The customer is on the Free plan.");
    let found = statements("My order number is A-1042.");
    assert_eq!(
        found[0].content(None),
        "The customer's order number is A-1042."
    );
}

#[test]
fn the_quote_is_the_sentence_as_the_customer_wrote_it() {
    let found =
        statements("Well…  Hi!   I’m “so” sure: I upgraded to the   Pro plan on the 3rd ! Bye");
    let quotes: Vec<_> = found
        .iter()
        .map(|statement| statement.quote.as_str())
        .collect();
    assert_eq!(
        quotes,
        ["I’m “so” sure: I upgraded to the   Pro plan on the 3rd !"]
    );
}

#[test]
fn a_long_message_is_read_to_its_end_and_keeps_a_bounded_number() {
    let mut orders = "I like it a lot, and so on. ".repeat(3_000);
    for number in 0..6_000 {
        orders.push_str(&format!("My order number is A-{number}. "));
    }
    let start = std::time::Instant::now();
    assert_eq!(statements(&orders).len(), MAX_STATEMENTS);
    let one_sentence = "I'm on the Pro plan, ".repeat(12_000);
    assert!(statements(&one_sentence).is_empty());
    assert!(statements(&"a, ".repeat(85_000)).is_empty());
    assert!(
        start.elapsed() < std::time::Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );

    let plan_last = format!("I'm on the Free plan. {orders} I'm on the Pro plan.");
    let found = statements(&plan_last);
    let plan = found
        .iter()
        .find(|statement| statement.attribute == Attribute::Plan);
    assert_eq!(plan.and_then(|plan| plan.value.as_deref()), Some("Pro"));
}
