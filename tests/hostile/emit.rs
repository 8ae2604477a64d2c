//! Writes any network, valid or not, in each format.

use cliquescope::format::Format;

/// A variable of a network that may be invalid.
#[derive(Clone)]
pub struct Node {
    pub name: String,
    pub states: States,
    pub parents: Vec<String>,
    /// The numbers of the table as text; `None` for no table.
    pub table: Option<Vec<String>>,
}

/// The states of a variable.
#[derive(Clone)]
pub enum States {
    /// Their labels.
    Labels(Vec<String>),
    /// Only how many there are.
    Count(u64),
}

/// A variable with two states `n` and `y`.
pub fn node(name: &str, parents: &[&str], table: &[&str]) -> Node {
    Node {
        name: name.to_owned(),
        states: States::Labels(vec!["n".to_owned(), "y".to_owned()]),
        parents: parents.iter().map(|&parent| parent.to_owned()).collect(),
        table: Some(table.iter().map(|&number| number.to_owned()).collect()),
    }
}

impl Node {
    fn labels(&self) -> Option<&[String]> {
        match &self.states {
            States::Labels(labels) => Some(labels),
            States::Count(_) => None,
        }
    }

    /// Number of states.
    fn count(&self) -> u64 {
        match &self.states {
            States::Labels(labels) => labels.len() as u64,
            States::Count(count) => *count,
        }
    }

    /// The labels in quotes, with `between` between them.
    fn listed(&self, between: &str, quote: &str) -> String {
        let labels = self.labels().unwrap_or_default();
        let labels: Vec<_> = labels.iter().map(|label| format!("{quote}{label}{quote}")).collect();
        labels.join(between)
    }

    /// The labels, each between `before` and `after`.
    fn each_label(&self, before: &str, after: &str) -> String {
        let labels = self.labels().unwrap_or_default();
        labels.iter().map(|label| format!("{before}{label}{after}")).collect()
    }

    /// The numbers of the table, with `between` between them.
    fn numbers(&self, between: &str) -> Option<String> {
        self.table.as_ref().map(|numbers| numbers.join(between))
    }

    /// `bar`, then the parents, separated by `between`; empty if there are no parents.
    fn given(&self, bar: &str, between: &str) -> String {
        if self.parents.is_empty() {
            String::new()
        } else {
            bar.to_owned() + &self.parents.join(between)
        }
    }
}

/// The content of a file in `format` with `nodes`; `None` if this module cannot write `format`. In
/// BIF and DSC the table of a node with parents is a single row, the default for all
/// configurations.
pub fn emit(format: Format, nodes: &[Node]) -> Option<String> {
    let each = |of: &dyn Fn(&Node) -> String| nodes.iter().map(of).collect::<String>();
    Some(match format.extensions()[0] {
        "bif" => {
            each(&|node| {
                let (name, count) = (&node.name, node.count());
                let labels = node.listed(", ", "");
                format!("variable {name} {{ type discrete [ {count} ] {{ {labels} }}; }}\n")
            }) + &each(&|node| {
                let (name, given) = (&node.name, node.given(" | ", ", "));
                let rows = node.numbers(", ");
                // With parents, the numbers become the default row, for all configurations.
                let whole = node.parents.is_empty();
                let kind = if whole { "table" } else { "default" };
                rows.map_or(String::new(), |rows| {
                    format!("probability ( {name}{given} ) {{ {kind} {rows}; }}\n")
                })
            })
        }
        "xml" => {
            let variables = each(&|node| {
                let labels = node.each_label("<OUTCOME>", "</OUTCOME>");
                format!("<VARIABLE><NAME>{}</NAME>{labels}</VARIABLE>\n", node.name)
            });
            let tables = each(&|node| {
                let given: String =
                    node.parents.iter().map(|parent| format!("<GIVEN>{parent}</GIVEN>")).collect();
                node.numbers(" ").map_or(String::new(), |numbers| {
                    format!(
                        "<DEFINITION><FOR>{}</FOR>{given}<TABLE>{numbers}</TABLE></DEFINITION>\n",
                        node.name
                    )
                })
            });
            format!(
                "<?xml version=\"1.0\"?>\n<BIF><NETWORK>\n{variables}{tables}</NETWORK></BIF>\n"
            )
        }
        "xdsl" => {
            let nodes = each(&|node| {
                let labels = node.each_label("<state id=\"", "\"/>");
                let parents = match node.parents.join(" ") {
                    parents if parents.is_empty() => parents,
                    parents => format!("<parents>{parents}</parents>"),
                };
                let table = node.numbers(" ").map_or(String::new(), |numbers| {
                    format!("<probabilities>{numbers}</probabilities>")
                });
                format!("<cpt id=\"{}\">{labels}{parents}{table}</cpt>\n", node.name)
            });
            format!(
                "<?xml version=\"1.0\"?>\n<smile version=\"1.0\" id=\"n\"><nodes>\n\
                 {nodes}</nodes></smile>\n"
            )
        }
        "dne" => {
            let nodes = each(&|node| {
                let states = match &node.labels() {
                    Some(_) => format!("states = ({});", node.listed(", ", "")),
                    None => format!("numstates = {};", node.count()),
                };
                let parents = node.parents.join(", ");
                let table = node.numbers(", ").map_or(String::new(), |n| format!("probs = ({n});"));
                format!(
                    "node {} {{ kind = NATURE; discrete = TRUE; {states} parents = ({parents}); \
                     {table} }};\n",
                    node.name
                )
            });
            format!("// ~->[DNET-1]->~\nbnet n {{\n{nodes}}};\n")
        }
        "dsl" => {
            let nodes = each(&|node| {
                let (name, parents) = (&node.name, node.parents.join(", "));
                let labels = node.listed(", ", "");
                let table =
                    node.numbers(", ").map_or(String::new(), |n| format!("PROBABILITIES = ({n});"));
                format!(
                    "node {name} {{ TYPE = CPT; HEADER = {{ ID = {name}; }}; \
                     PARENTS = ({parents}); \
                     DEFINITION = {{ NAMESTATES = ({labels}); {table} }}; }};\n"
                )
            });
            format!("net n\n{{\n{nodes}}};\n")
        }
        "dsc" => {
            let nodes = each(&|node| {
                let (name, count) = (&node.name, node.count());
                let labels = match node.labels() {
                    Some(_) => format!(" = {{ {} }}", node.listed(", ", "\"")),
                    None => String::new(),
                };
                format!("node {name} {{ type : discrete[{count}]{labels}; }}\n")
            });
            let tables = each(&|node| {
                let (name, given) = (&node.name, node.given(" | ", ", "));
                let rows = if node.parents.is_empty() { "" } else { "default : " };
                node.numbers(", ").map_or(String::new(), |numbers| {
                    format!("probability({name}{given}) {{ {rows}{numbers}; }}\n")
                })
            });
            format!("belief network \"n\"\n{nodes}{tables}")
        }
        "net" => {
            each(&|node| {
                format!("node {} {{ states = ({}); }}\n", node.name, node.listed(" ", "\""))
            })
            .replacen("node", "net {}\nnode", 1)
                + &each(&|node| {
                    let given = node.given(" | ", " ");
                    let data =
                        node.numbers(" ").map_or(String::new(), |n| format!("data = ({n});"));
                    format!("potential ( {}{given} ) {{ {data} }}\n", node.name)
                })
        }
        "uai" => {
            let position = |name: &String| {
                let found = nodes.iter().position(|node| node.name == *name);
                found.map_or("99".to_owned(), |position| position.to_string())
            };
            let cardinalities: Vec<_> = nodes.iter().map(|node| node.count().to_string()).collect();
            let tables: Vec<_> = nodes.iter().filter(|node| node.table.is_some()).collect();
            let scopes: String = tables
                .iter()
                .map(|node| {
                    let mut scope: Vec<_> = node.parents.iter().map(&position).collect();
                    scope.push(position(&node.name));
                    format!("{} {}\n", scope.len(), scope.join(" "))
                })
                .collect();
            let numbers: String = tables
                .iter()
                .map(|node| {
                    let count = node.table.as_ref().map_or(0, Vec::len);
                    format!("{count}\n{}\n", node.numbers(" ").unwrap_or_default())
                })
                .collect();
            format!(
                "BAYES\n{}\n{}\n{}\n{scopes}{numbers}",
                nodes.len(),
                cardinalities.join(" "),
                tables.len()
            )
        }
        _ => return None,
    })
}
