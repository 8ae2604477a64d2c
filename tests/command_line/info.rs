//! Commands `info` and `engines`.

use crate::{is_close, json, run};

#[test]
fn info_prints_the_sizes_of_the_network_and_its_tree() {
    let info = json(&["info", "asia", "--triangulation", "min-fill", "--json"]);
    assert_eq!(info["network"], "asia");
    assert_eq!(info["variables"], 8);
    assert_eq!(info["states"], 16);
    assert_eq!(info["arcs"], 8);
    assert_eq!(info["triangulation"], "min-fill");
    assert_eq!(info["cliques"], 6);
    assert_eq!(info["total_clique_entries"], 40);
    assert_eq!(info["max_clique_entries"], 8);
    assert_eq!(info["min_clique_entries"], 4);
    assert!(is_close(&info["mean_clique_entries"], 40.0 / 6.0));
    assert_eq!(info["total_separator_entries"], 16);
    assert_eq!(info["max_separator_entries"], 4);
    assert_eq!(info["min_separator_entries"], 2);
    assert!(is_close(&info["mean_separator_entries"], 16.0 / 5.0));
    assert!(info["depth"].as_u64().unwrap() >= 2);
    assert!(info["compile_ms"].as_f64().unwrap() >= 0.0);
    assert!(info["forecasts"].as_array().unwrap().iter().all(|f| f["fits"] == true));
    let (code, out, _) = run(&["info", "asia"]);
    assert_eq!(code, 0);
    for part in ["largest clique", "sequential", "separators"] {
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn engines_are_listed_with_their_availability() {
    let engines = json(&["engines", "--json"]);
    let engines = engines.as_array().unwrap();
    assert_eq!(engines.iter().filter(|engine| engine["default"] == true).count(), 1);
    for engine in engines {
        assert_eq!(engine["available"] == true, engine["reason"].is_null());
        let precisions = engine["precisions"].as_array().unwrap();
        assert!(!precisions.is_empty());
        let bounds = engine["error_bounds"].as_array().unwrap();
        assert_eq!(bounds.len(), precisions.len());
        for (bound, precision) in bounds.iter().zip(precisions) {
            assert_eq!(bound["precision"], *precision);
            for part in ["underflow", "rounding_per_factor"] {
                assert!(bound[part].as_f64().unwrap() > 0.0, "{bound}");
            }
        }
    }
    let (code, out, _) = run(&["engines"]);
    assert_eq!(code, 0);
    assert!(out.contains("sequential"), "{out}");
}
