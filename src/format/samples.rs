//! The shipped networks. `networks/PROVENANCE.md` says where they come from.

/// A network that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The name on the command line and in the menu.
    pub name: &'static str,
    /// The subject in one line.
    pub summary: &'static str,
    /// The number of variables.
    pub variables: usize,
    /// The number of arcs.
    pub arcs: usize,
    /// The network as a BIF file, compressed with gzip.
    pub(super) packed: &'static [u8],
}

macro_rules! samples {
    ($(($name:literal, $variables:literal, $arcs:literal, $summary:literal),)*) => {
        /// The samples in the order of the menu, roughly from small to large.
        pub static SAMPLES: &[Sample] = &[$(Sample {
            name: $name,
            summary: $summary,
            variables: $variables,
            arcs: $arcs,
            packed: include_bytes!(concat!("../../networks/", $name, ".bif.gz")),
        }),*];
    };
}

samples![
    ("asia", 8, 8, "Chest clinic: a visit to Asia, smoking, and shortness of breath"),
    ("cancer", 5, 4, "Lung cancer, its causes and its symptoms"),
    ("child", 20, 25, "Congenital heart disease in the newborn"),
    ("insurance", 27, 52, "Risk of insuring a car"),
    ("alarm", 37, 46, "Monitoring of patients under anaesthesia"),
    ("water", 32, 66, "Biological processes of a waste water plant"),
    ("mildew", 35, 46, "Fungicide against mildew in winter wheat"),
    ("barley", 48, 84, "Malting barley grown without pesticides"),
    ("pigs", 441, 592, "Pedigree of breeding pigs"),
    ("diabetes", 413, 602, "Insulin dose over a day"),
    ("munin2", 1003, 1244, "Electromyography of nerves and muscles, second subnetwork"),
    ("munin3", 1041, 1306, "Electromyography of nerves and muscles, third subnetwork"),
    ("munin4", 1038, 1388, "Electromyography of nerves and muscles, fourth subnetwork"),
];

/// The sample called `name`, ignoring ASCII case.
#[must_use]
pub fn sample(name: &str) -> Option<&'static Sample> {
    SAMPLES.iter().find(|sample| sample.name.eq_ignore_ascii_case(name))
}
