//! What answers are worth.

use crate::data::Question;

/// How many questions have their answer first, and among the first five.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// First.
    pub top_1: usize,
    /// Among the first five.
    pub top_5: usize,
}

/// Where the right fact stands, for questions that have one.
#[must_use]
pub fn places(questions: &[Question], answers: &[Vec<String>]) -> Places {
    let mut places = Places::default();
    for (question, found) in questions.iter().zip(answers) {
        let place = found.iter().position(|id| question.answers.contains(id));
        places.top_1 += usize::from(place == Some(0));
        places.top_5 += usize::from(place.is_some_and(|place| place < 5));
    }
    places
}

/// The mean share of a question's evidence among the first `top` facts, over
/// the questions that have evidence; and how many those are.
#[must_use]
pub fn evidence_recall(
    questions: &[Question],
    answers: &[Vec<String>],
    top: usize,
) -> (f64, usize) {
    let shares: Vec<f64> = questions
        .iter()
        .zip(answers)
        .filter(|(question, _)| !question.answers.is_empty())
        .map(|(question, found)| {
            let first = &found[..found.len().min(top)];
            let held = question.answers.iter().filter(|id| first.contains(id));
            held.count() as f64 / question.answers.len() as f64
        })
        .collect();
    (
        shares.iter().sum::<f64>() / shares.len().max(1) as f64,
        shares.len(),
    )
}

/// [`evidence_recall`] over the questions of several sets, with their answers.
#[must_use]
pub fn mean_evidence_recall(asked: &[(&[Question], Vec<Vec<String>>)], top: usize) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (questions, answers) in asked {
        let (mean, of) = evidence_recall(questions, answers, top);
        sum += mean * of as f64;
        count += of;
    }
    sum / count.max(1) as f64
}

/// How many questions got no answer, and how many facts the others got in all.
#[must_use]
pub fn silence(answers: &[Vec<String>]) -> (usize, usize) {
    (
        answers.iter().filter(|found| found.is_empty()).count(),
        answers.iter().map(Vec::len).sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn question(answers: &[&str]) -> Question {
        Question {
            id: String::new(),
            text: String::new(),
            answers: ids(answers),
        }
    }

    #[test]
    fn places_and_shares_are_counted() {
        let questions = [question(&["a"]), question(&["b", "c"]), question(&[])];
        let answers = [ids(&["a"]), ids(&["x", "c", "y"]), ids(&["z"])];
        let expected = Places { top_1: 1, top_5: 2 };
        assert_eq!(places(&questions, &answers), expected);
        assert_eq!(evidence_recall(&questions, &answers, 2), (0.75, 2));
        assert_eq!(evidence_recall(&questions, &answers, 1), (0.5, 2));
        assert_eq!(silence(&[ids(&[]), ids(&["a", "b"])]), (1, 2));
    }
}
