use super::*;
use crate::graph::{Clique, CliqueId, JunctionTree, Separator};

fn plan_of_two_messages() -> Plan {
    let clique = || Clique { variables: vec![], entries: 1 };
    let (parent, child) = (CliqueId::new(0), CliqueId::new(1));
    let separator = Separator { variables: vec![], entries: 1, parent, child };
    Plan::depth_first(&JunctionTree::new(vec![clique(), clique()], vec![separator], parent))
}

#[test]
fn a_running_propagation_can_be_read() {
    let plan = plan_of_two_messages();
    let watch = Watch::timed(&plan, CancelToken::new());
    let first = MessageId::new(0);
    assert_eq!((watch.progress(), watch.active()), ((0, 2), None));
    watch.message(first, 3, || assert_eq!(watch.active(), Some(first)));
    assert_eq!((watch.progress(), watch.active()), ((1, 2), None));
    let mut clock = watch.worker_clock();
    let before = clock.read_at;
    let alone = TimingHint { forecast: 1, min_interval: 0 };
    watch.message_with_clock(MessageId::new(1), 0, &mut clock, alone, || ());
    let second = watch.trace().messages[1];
    assert_eq!(second.start, Duration::from_nanos(before));
    assert_eq!(second.start + second.duration, Duration::from_nanos(clock.read_at));
    let trace = watch.trace();
    assert_eq!(trace.messages.len(), 2);
    assert_eq!((trace.messages[0].message, trace.messages[0].worker), (first, 3));
    watch.note_end();
    let elapsed = watch.trace().elapsed;
    assert!(!watch.is_finished());
    watch.finish();
    assert!(watch.is_finished());
    assert_eq!(watch.trace().elapsed, elapsed, "time after the end is not counted");
}

#[test]
fn short_messages_are_timed_together_until_they_add_up_or_the_stage_ends() {
    let clique = || Clique { variables: vec![], entries: 1 };
    let separator = |child| Separator {
        variables: vec![],
        entries: 1,
        parent: CliqueId::new(0),
        child: CliqueId::new(child),
    };
    let cliques = (0..5).map(|_| clique()).collect();
    let separators = (1..5).map(separator).collect();
    let plan = Plan::depth_first(&JunctionTree::new(cliques, separators, CliqueId::new(0)));
    let watch = Watch::timed(&plan, CancelToken::new());
    let forecasts = [3, 4, 4, 20, 5, 5, 1, 2];
    let mut clock = watch.worker_clock();
    watch.stage_with_clock(Stage::Collect, &mut clock, |clock| {
        for (message, forecast) in forecasts.into_iter().enumerate() {
            let hint = TimingHint { forecast, min_interval: 10 };
            watch.message_with_clock(MessageId::new(message), 0, clock, hint, || {
                assert_eq!(watch.active(), Some(MessageId::new(message)));
                assert_eq!(watch.progress().0, message);
            });
        }
    });
    let trace = watch.trace();
    let shared: Vec<u32> = trace.messages.iter().map(|timing| timing.shared_with).collect();
    assert_eq!(shared, [2, 2, 2, 0, 1, 1, 1, 1]);
    for pair in trace.messages.windows(2) {
        assert_eq!(
            pair[0].start + pair[0].duration,
            pair[1].start,
            "messages follow without a gap"
        );
    }
    let (stage, last) = (trace.stages[0], trace.messages[7]);
    assert_eq!((stage.start, stage.end), (trace.messages[0].start, last.start + last.duration));
}

#[test]
fn an_untimed_watch_times_nothing_and_cancels_its_children() {
    let watch = Watch::untimed(CancelToken::new());
    assert_eq!(watch.message(MessageId::new(0), 0, || 7), 7);
    assert!(watch.trace().messages.is_empty());
    assert!(watch.check().is_ok());
    let child = watch.untimed_child();
    watch.cancel();
    assert!(watch.check().is_err());
    assert!(child.check().is_err());
}
