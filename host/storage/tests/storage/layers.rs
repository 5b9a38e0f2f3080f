//! Recall from a customer's memory, the account's and the team's at once.

use keepsake_storage::{BeginSession, Layer, Memory, NewFact, RecallMode, RecallOptions};
use keepsake_types::ResourceRef;

use crate::common::{TestFile, assert_invalid, remember, remember_text, resource};

/// A session of a customer with both grants.
struct Layers {
    own: Memory,
    wider: Vec<(Layer, Memory)>,
}

impl Layers {
    async fn new(file: &TestFile, name: &str) -> Self {
        let customer = resource(name).with_team("acme").unwrap();
        let begin = BeginSession {
            account: Some("initech".to_owned()),
            ..BeginSession::new(customer.clone(), "support")
        };
        let session = file.database.begin_session(begin).await.unwrap();
        let own = file.database.memory(&customer, &session.id).await.unwrap();
        let wider = file.database.wider_memories(&session.id).await.unwrap();
        Self { own, wider }
    }

    fn account(&self) -> &Memory {
        assert_eq!(self.wider[0].0, Layer::Account);
        &self.wider[0].1
    }

    fn team(&self) -> &Memory {
        assert_eq!(self.wider[1].0, Layer::Team);
        &self.wider[1].1
    }

    async fn recall_with(&self, query: &str, options: RecallOptions) -> Vec<(Layer, String)> {
        let options = RecallOptions {
            mode: RecallMode::Words,
            ..options
        };
        let found = self
            .own
            .recall_wider(&self.wider, query, None, options)
            .await
            .unwrap();
        let facts = found.facts.into_iter();
        facts.map(|one| (one.layer, one.fact.content)).collect()
    }

    async fn recall(&self, query: &str) -> Vec<(Layer, String)> {
        self.recall_with(query, RecallOptions::default()).await
    }
}

fn rule(subject: &str, text: &str) -> NewFact {
    NewFact {
        subject: Some(subject.to_owned()),
        attribute: Some("rule".to_owned()),
        ..NewFact::new(text)
    }
}

fn of(layer: Layer, text: &str) -> (Layer, String) {
    (layer, text.to_owned())
}

#[tokio::test]
async fn the_nearest_value_of_a_property_hides_the_wider_ones() {
    let file = TestFile::new().await;
    let layers = Layers::new(&file, "jordan").await;
    remember(layers.team(), rule("refunds", "refund after 14 days")).await;
    assert_eq!(
        layers.recall("refund").await,
        [of(Layer::Team, "refund after 14 days")]
    );
    remember(layers.account(), rule("Refunds", "refund after 30 days")).await;
    assert_eq!(
        layers.recall("refund").await,
        [of(Layer::Account, "refund after 30 days")]
    );
    // The customer's own is not among the words that are asked for.
    let own = remember(&layers.own, rule("REFUNDS", "sixty days")).await;
    assert!(layers.recall("refund").await.is_empty());
    // Once it holds no more, what is true for the account is true again.
    layers.own.forget(vec![own.fact.id]).await.unwrap();
    assert_eq!(layers.recall("refund").await.len(), 1);
}

#[tokio::test]
async fn a_nearer_value_hides_wider_ones_only_for_the_time_in_which_it_holds() {
    let file = TestFile::new().await;
    let layers = Layers::new(&file, "jordan").await;
    let since = |from, fact| NewFact {
        valid_from: Some(from),
        ..fact
    };
    let team = since(1_000, rule("refunds", "refund after 14 days"));
    remember(layers.team(), team).await;
    let own = since(5_000, rule("refunds", "refund after 60 days"));
    remember(&layers.own, own).await;
    let at = async |at| {
        let options = RecallOptions {
            as_of: Some(at),
            ..RecallOptions::default()
        };
        layers.recall_with("refund", options).await
    };
    assert!(at(500).await.is_empty());
    assert_eq!(at(4_999).await, [of(Layer::Team, "refund after 14 days")]);
    assert_eq!(at(5_000).await, [of(Layer::This, "refund after 60 days")]);
}

#[tokio::test]
async fn equals_come_nearest_first_and_what_is_said_twice_comes_once() {
    let file = TestFile::new().await;
    let layers = Layers::new(&file, "jordan").await;
    for memory in [layers.team(), layers.account(), &layers.own] {
        remember_text(memory, "invoices on Fridays").await;
    }
    remember_text(layers.team(), "invoices by letter").await;
    remember_text(layers.account(), "invoices by mail").await;
    assert_eq!(
        layers.recall("invoices").await[..],
        [
            of(Layer::This, "invoices on Fridays"),
            of(Layer::Account, "invoices by mail"),
            of(Layer::Team, "invoices by letter"),
        ]
    );
}

#[tokio::test]
async fn a_fact_that_holds_an_identifier_of_the_query_comes_first_from_whatever_layer() {
    let file = TestFile::new().await;
    let layers = Layers::new(&file, "jordan").await;
    remember_text(&layers.own, "the error comes when an invoice is printed").await;
    remember_text(layers.team(), "E-4711 is mended by a restart").await;
    let found = layers.recall("the invoice error E-4711").await;
    assert_eq!(found[0], of(Layer::Team, "E-4711 is mended by a restart"));
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn no_more_facts_come_than_were_asked_for_and_hidden_ones_make_room() {
    let file = TestFile::new().await;
    let layers = Layers::new(&file, "jordan").await;
    for number in 0..4 {
        let subject = format!("subject {number}");
        remember(layers.team(), rule(&subject, &format!("tea rule {number}"))).await;
    }
    for number in 0..3 {
        let subject = format!("subject {number}");
        remember(&layers.own, rule(&subject, &format!("own {number}"))).await;
    }
    let one = RecallOptions {
        limit: 1,
        ..RecallOptions::default()
    };
    assert_eq!(
        layers.recall_with("tea rule", one).await,
        [of(Layer::Team, "tea rule 3")]
    );
}

#[tokio::test]
async fn a_session_reaches_no_account_but_the_one_that_it_began_with() {
    let file = TestFile::new().await;
    let granted = Layers::new(&file, "jordan").await;
    let plain = file.memory("robin").await;
    let session = plain.session_id();
    assert!(
        file.database
            .wider_memories(session)
            .await
            .unwrap()
            .is_empty()
    );
    for other in [
        resource("initech"),
        resource("initech").with_team("acme").unwrap(),
        ResourceRef::of_team("acme").unwrap(),
        resource("jordan"),
    ] {
        assert_invalid(
            file.database.memory(&other, session).await,
            "another resource",
        );
    }
    assert_invalid(
        file.database
            .memory(&resource("initech"), granted.own.session_id())
            .await,
        "another resource",
    );
    assert_invalid(
        plain
            .recall_wider(&granted.wider, "tea", None, RecallOptions::default())
            .await,
        "the same session",
    );
}
