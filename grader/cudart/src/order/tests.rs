use super::*;
use ptxvm::Touch;
use std::collections::BTreeSet;

const BUFFER: BufferId = BufferId(0);

/// Streams of two kinds, by their handles.
const BLOCKING: [u64; 2] = [10, 11];
const NON_BLOCKING: [u64; 2] = [20, 21];

fn order() -> StreamOrder {
    let mut order = StreamOrder::default();
    for stream in BLOCKING {
        order.create(stream, StreamKind::Blocking);
    }
    for stream in NON_BLOCKING {
        order.create(stream, StreamKind::NonBlocking);
    }
    order
}

fn touches(touch: Touch, range: Range<u64>) -> [TouchedBytes; 1] {
    [TouchedBytes { buffer: BUFFER, touch, ranges: vec![range] }]
}

impl StreamOrder {
    fn write(&mut self, stream: u64, range: Range<u64>) {
        self.issue(stream, Call::Kernel("write".into()), &touches(Touch::Write, range), |_| 200);
    }

    fn read(&mut self, stream: u64, range: Range<u64>) {
        self.issue(stream, Call::Kernel("read".into()), &touches(Touch::Read, range), |_| 200);
    }
}

/// The number of races of what some calls do.
fn races(calls: impl FnOnce(&mut StreamOrder)) -> usize {
    let mut order = order();
    calls(&mut order);
    order.races().len()
}

#[test]
fn a_race_has_both_sides_and_its_bytes() {
    let mut order = order();
    order.write(20, 0..64);
    order.write(20, 64..128);
    for _ in 0..3 {
        order.read(21, 100..200);
    }
    let side = |name: &str, stream, writes| Side {
        call: Call::Kernel(name.into()),
        stream: Some(StreamName::Created(stream)),
        writes,
    };
    let race = StreamRace {
        buffer: BUFFER,
        bytes: 100..128,
        sides: [side("write", 3, true), side("read", 4, false)],
        count: 3,
        size: 200,
    };
    assert_eq!(order.races(), [race]);
}

/// Whichever is done first.
#[test]
fn each_function_that_races_is_told() {
    let told = |calls: [&str; 3]| {
        let mut order = order();
        for (number, name, stream) in [(0, "fill", 20), (1, "add", 21), (2, "clear", 21)] {
            order.begin(number, stream, Call::Kernel(name.into()), Vec::new());
        }
        for name in calls {
            let (number, touch) = match name {
                "fill" => (0, Touch::Write),
                "add" => (1, Touch::Read),
                _ => (2, Touch::Write),
            };
            order.resume(Some(number));
            order.issue(0, Call::Kernel(name.into()), &touches(touch, 0..64), |_| 200);
        }
        let races = order.races().iter();
        let names = races.map(|race| race.sides.each_ref().map(|side| side.call.clone()));
        names.collect::<Vec<_>>()
    };
    let pair = |second: &str| [Call::Kernel("fill".into()), Call::Kernel(second.into())];
    for calls in [["fill", "add", "clear"], ["add", "clear", "fill"]] {
        assert_eq!(told(calls), [pair("add"), pair("clear")], "{calls:?}");
    }
}

#[test]
fn what_a_kernel_launches_is_a_part_of_it() {
    // The work is done late: the program has waited for the kernel before that runs, and launches another.
    let child = |waits: bool| {
        races(|order| {
            order.begin(1, 20, Call::Kernel("parent".into()), Vec::new());
            if waits {
                order.synchronise(Awaited::Device);
            }
            order.resume(Some(1));
            order.issue(20, Call::Kernel("parent".into()), &touches(Touch::Read, 0..64), |_| 200);
            order.resume(None);
            order.issue_below(Call::Kernel("child".into()), &touches(Touch::Write, 0..64), |_| 200);
            order.issue_below(Call::Kernel("other".into()), &touches(Touch::Write, 0..64), |_| 200);
            order.read(21, 0..64);
        })
    };
    assert_eq!(child(true), 0);
    assert!(child(false) > 0);
}

#[test]
fn only_the_same_bytes_race_and_only_if_one_side_writes() {
    assert_eq!(races(|o| (o.write(20, 0..64), o.write(21, 64..128)).0), 0, "halves");
    assert_eq!(races(|o| (o.read(20, 0..64), o.read(21, 0..64)).0), 0, "two that read");
    assert_eq!(races(|o| (o.read(20, 0..64), o.write(21, 63..65)).0), 1);
    assert_eq!(races(|o| (o.write(20, 0..64), o.write(20, 0..64)).0), 0, "one stream");
}

#[test]
fn an_event_orders_what_came_before_it_and_what_comes_after_the_wait() {
    let with = |late: bool, other: u64| {
        races(|order| {
            order.write(20, 0..64);
            order.record(1, 20);
            if late {
                order.write(20, 0..64);
            }
            order.wait(other, 1);
            order.read(21, 0..64);
        })
    };
    assert_eq!(with(false, 21), 0);
    assert_eq!(with(true, 21), 1, "recorded too early");
    assert_eq!(with(false, 11), 1, "another stream waits");
    let unrecorded = races(|order| {
        order.write(20, 0..64);
        order.wait(21, 7);
        order.read(21, 0..64);
    });
    assert_eq!(unrecorded, 1, "nothing is awaited");
}

#[test]
fn the_default_stream_orders_blocking_streams_alone() {
    let around = |first: u64, second: u64| {
        races(|order| {
            order.write(first, 0..64);
            order.write(0, 64..65);
            order.read(second, 0..64);
        })
    };
    assert_eq!(around(10, 11), 0, "both wait for it, and it for them");
    assert_eq!(around(10, 20), 1);
    assert_eq!(around(20, 10), 1);
    let with = |other: u64| races(|order| (order.write(0, 0..64), order.read(other, 0..64)).0);
    assert_eq!((with(10), with(20)), (0, 1));
}

#[test]
fn what_the_host_has_waited_for_is_done() {
    let waits = |awaited: Awaited| {
        races(|order| {
            order.write(20, 0..64);
            order.record(1, 20);
            order.write(11, 64..128);
            order.synchronise(awaited);
            order.read(21, 0..64);
        })
    };
    for enough in [Awaited::Device, Awaited::Stream(20), Awaited::Event(1)] {
        assert_eq!(waits(enough), 0, "{enough:?}");
    }
    for other in [Awaited::Stream(0), Awaited::Stream(21), Awaited::Event(7)] {
        assert_eq!(waits(other), 1, "{other:?}");
    }
    // The stream's own work is done, not that of the default stream that its next operation would wait for.
    let late = races(|order| {
        order.write(0, 0..64);
        order.synchronise(Awaited::Stream(10));
        order.read(20, 0..64);
    });
    assert_eq!(late, 1);
}

#[test]
fn the_host_races_with_work_that_it_has_not_waited_for() {
    let access = |order: &mut StreamOrder, touch| {
        let before = order.races().len();
        order.host_access(&touches(touch, 8..9)[0], 200);
        order.races().len() - before
    };
    let mut order = order();
    let pending = |order: &StreamOrder| order.pending(BUFFER).collect::<Vec<_>>();
    order.write(20, 0..64);
    order.read(21, 64..128);
    assert_eq!(pending(&order), [(Touch::Write, 0..64), (Touch::Read, 64..128)]);
    assert_eq!(access(&mut order, Touch::Read), 1);
    assert_eq!(order.races()[0].sides[1].call, Call::Host);
    order.synchronise(Awaited::Stream(20));
    assert_eq!(pending(&order), [(Touch::Read, 64..128)]);
    assert_eq!(access(&mut order, Touch::Write), 0);
    order.write(20, 8..9);
    assert_eq!(order.races().len(), 1, "the host's own access comes before what it issues");
}

#[test]
fn streams_that_come_and_go_keep_clocks_short() {
    let mut order = order();
    for handle in 100..1100 {
        order.create(handle, StreamKind::NonBlocking);
        order.write(handle, 0..64);
        order.destroy(handle);
        order.synchronise(Awaited::Device);
    }
    assert_eq!((order.races().len(), order.streams.len()), (0, 6));
    // One whose work may still run does not give its number away.
    order.create(2000, StreamKind::NonBlocking);
    order.write(2000, 0..64);
    order.destroy(2000);
    order.create(2001, StreamKind::NonBlocking);
    order.write(2001, 0..64);
    assert_eq!(order.races().len(), 1);
}

#[test]
fn what_takes_too_much_memory_is_not_followed_any_more() {
    let mut order = order();
    for handle in 100..5000 {
        order.create(handle, StreamKind::NonBlocking);
    }
    assert!(!order.matters());
    order.write(100, 0..64);
    order.write(101, 0..64);
    assert_eq!(order.races().len(), 0);
}

/// What happened before a moment, as the set of the operations.
type Past = BTreeSet<usize>;

/// The same rules with sets in place of clocks, and all accesses in place of the last ones.
#[derive(Default)]
struct Reference {
    streams: BTreeMap<u64, Past>,
    events: BTreeMap<u64, Past>,
    host: Past,
    accesses: Vec<(Touch, Range<u64>)>,
}

impl Reference {
    fn reach(&mut self, stream: u64) -> Past {
        let mut past = self.streams.get(&stream).cloned().unwrap_or_default();
        past.extend(&self.host);
        let waits_for: &[u64] = match stream {
            0 => &BLOCKING,
            _ if BLOCKING.contains(&stream) => &[0],
            _ => &[],
        };
        for other in waits_for {
            past.extend(self.streams.get(other).into_iter().flatten());
        }
        self.streams.insert(stream, past.clone());
        past
    }

    /// Whether an operation races with an earlier one.
    fn issue(&mut self, stream: u64, touch: Touch, range: &Range<u64>) -> bool {
        let past = self.reach(stream);
        let overlap = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        let races = self.accesses.iter().enumerate().any(|(number, (old, bytes))| {
            !past.contains(&number) && overlap(bytes) && touch.conflicts_with(*old)
        });
        self.streams.entry(stream).or_default().insert(self.accesses.len());
        self.accesses.push((touch, range.clone()));
        races
    }
}

/// Random programs: each operation is said to race exactly if it does by the definition.
#[test]
fn clocks_find_the_races_of_the_definition() {
    let streams = [0, 10, 11, 20, 21];
    let mut state = 1u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut found = 0;
    for program in 0..2000 {
        let (mut order, mut reference) = (order(), Reference::default());
        for step in 0..40 {
            let stream = streams[random(5) as usize];
            let event = random(3);
            match random(8) {
                0 => {
                    order.record(event, stream);
                    let past = reference.reach(stream);
                    reference.events.insert(event, past);
                }
                1 => {
                    order.wait(stream, event);
                    reference.reach(stream);
                    let awaited = reference.events.get(&event).cloned().unwrap_or_default();
                    reference.streams.entry(stream).or_default().extend(awaited);
                }
                2 => match random(6) {
                    0 => {
                        order.synchronise(Awaited::Device);
                        reference.host.extend(reference.streams.values().flatten());
                    }
                    1 => {
                        order.synchronise(Awaited::Event(event));
                        let awaited = reference.events.get(&event).into_iter().flatten();
                        reference.host.extend(awaited);
                    }
                    _ => {
                        order.synchronise(Awaited::Stream(stream));
                        let past = if stream == 0 {
                            reference.reach(0)
                        } else {
                            reference.streams.get(&stream).cloned().unwrap_or_default()
                        };
                        reference.host.extend(past);
                    }
                },
                _ => {
                    let touch = Touch::ALL[random(4) as usize];
                    let start = random(24);
                    let range = start..start + 1 + random(8);
                    let races = reference.issue(stream, touch, &range);
                    let before = order.races.len();
                    let call = Call::Function(format!("operation {step}"));
                    order.issue(stream, call, &touches(touch, range), |_| 200);
                    assert_eq!(order.races.len() > before, races, "program {program}, step {step}");
                    found += usize::from(races);
                }
            }
        }
    }
    assert!(found > 1000, "{found} races are too few to tell");
}

/// Random programs whose work is done as late as they allow: each operation behind what happens before it, all that the host waits
/// for, and the races are those of the definition.
#[test]
fn late_work_keeps_the_order_of_the_rules() {
    let streams = [0, 10, 11, 20, 21];
    let mut state = 3u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut racing, mut reversed) = (0, 0);
    for program in 0..1000 {
        let (mut order, mut reference) = (order(), Reference::default());
        // What happens before each operation, its stream and access, and those that are done.
        let mut all: Vec<(Past, u64, Touch, Range<u64>)> = Vec::new();
        let mut done: Vec<usize> = Vec::new();
        let mut expects_race = false;
        for step in 0..40 {
            let stream = streams[random(5) as usize];
            let event = random(3);
            let due = match random(8) {
                0 => {
                    order.record(event, stream);
                    let past = reference.reach(stream);
                    reference.events.insert(event, past);
                    continue;
                }
                1 => {
                    order.wait(stream, event);
                    reference.reach(stream);
                    let awaited = reference.events.get(&event).cloned().unwrap_or_default();
                    reference.streams.entry(stream).or_default().extend(awaited);
                    continue;
                }
                2 if random(4) == 0 => {
                    order.synchronise(Awaited::Event(event));
                    let awaited = reference.events.get(&event).into_iter().flatten();
                    reference.host.extend(awaited);
                    Due::Host
                }
                2 => Due::Stream(stream),
                _ if step < 39 => {
                    let touch = Touch::ALL[random(4) as usize];
                    let start = random(24);
                    let range = start..start + 1 + random(8);
                    expects_race |= reference.issue(stream, touch, &range);
                    let past = reference.streams[&stream].clone();
                    let call = Call::Function(all.len().to_string());
                    order.begin(all.len() as u64, stream, call, Vec::new());
                    all.push((past, stream, touch, range));
                    continue;
                }
                _ => Due::All,
            };
            let required = match due {
                Due::All => (0..all.len()).collect(),
                Due::Host => reference.host.clone(),
                Due::Stream(stream) => reference.reach(stream),
            };
            for operation in order.due(due) {
                let (past, stream, touch, range) = &all[operation as usize];
                let missing = past.iter().filter(|&&before| before != operation as usize);
                assert!(missing.into_iter().all(|before| done.contains(before)), "{program}");
                order.resume(Some(operation));
                let call = Call::Function(operation.to_string());
                order.issue(*stream, call, &touches(*touch, range.clone()), |_| 200);
                reversed += usize::from(done.last().is_some_and(|&last| last > operation as usize));
                done.push(operation as usize);
            }
            order.resume(None);
            assert!(required.iter().all(|operation| done.contains(operation)), "{program}");
        }
        for race in &order.races {
            let [first, second] = race.sides.each_ref().map(|side| match &side.call {
                Call::Function(number) => number.parse::<usize>().unwrap(),
                other => panic!("{other:?}"),
            });
            assert!(first < second && !all[second].0.contains(&first), "{program}: {race:?}");
        }
        if done.len() == all.len() {
            assert_eq!(!order.races.is_empty(), expects_race, "program {program}");
        }
        racing += usize::from(expects_race);
    }
    assert!(racing > 100 && reversed > 1000, "{racing} and {reversed} are too few to tell");
}

#[test]
fn the_host_races_with_work_that_is_not_done_yet() {
    let mut order = order();
    let call = || Call::Function("cudaMemcpyAsync".into());
    order.begin(1, 20, call(), touches(Touch::Write, 0..64).to_vec());
    assert_eq!(order.pending(BUFFER).collect::<Vec<_>>(), [(Touch::Write, 0..64)]);
    order.host_access(&touches(Touch::Read, 64..65)[0], 200);
    assert_eq!(order.races().len(), 0);
    order.host_access(&touches(Touch::Read, 8..9)[0], 200);
    let calls = order.races()[0].sides.each_ref().map(|side| side.call.clone());
    assert_eq!(calls, [call(), Call::Host]);
}
