//! Words that entries are made of; some have letters beyond ASCII, as in every directory.

pub const GIVEN: &[&str] = &[
    "Adele", "Ahmed", "Aisha", "Alan", "Alice", "Amir", "Ana", "André", "Anna", "Anton", "Åsa",
    "Aylin", "Barbara", "Bernd", "Björn", "Bruno", "Camille", "Carla", "Carlos", "Charlotte",
    "Chen", "Chloé", "Clara", "Daniel", "David", "Diego", "Elena", "Emil", "Emma", "Erik",
    "Fatima", "Felix", "François", "Frida", "Gabriel", "George", "Giulia", "Grace", "Hannah",
    "Hans", "Helena", "Hiroshi", "Ibrahim", "Ingrid", "Irina", "Isabel", "Ivan", "Jakob", "James",
    "Jan", "Javier", "Jörg", "José", "Julia", "Kaito", "Karin", "Katarzyna", "Kenji", "Laura",
    "Lea", "Leon", "Li", "Linda", "Lucas", "Lucía", "Magnus", "Marc", "Maria", "Marta", "Mateo",
    "Mei", "Michael", "Mohamed", "Nadia", "Natalia", "Nele", "Nicolas", "Nina", "Noah", "Olga",
    "Oliver", "Omar", "Paula", "Pedro", "Peter", "Pierre", "Priya", "Rachel", "Raj", "René",
    "Robert", "Rosa", "Ruth", "Samuel", "Sara", "Sofia", "Sören", "Stefan", "Susan", "Tariq",
    "Thomas", "Ursula", "Viktor", "Wei", "William", "Yasmin", "Yuki", "Zoë",
];

pub const SURNAMES: &[&str] = &[
    "Abadi", "Adams", "Ahlberg", "Allen", "Andersen", "Bailey", "Baker", "Bauer", "Becker", "Bell",
    "Berg", "Bianchi", "Blanc", "Böhm", "Bonnet", "Brown", "Campbell", "Carter", "Castillo",
    "Chandra", "Chen", "Clark", "Cohen", "Cooper", "Costa", "Davies", "Diaz", "Dubois", "Edwards",
    "Eriksson", "Evans", "Fernández", "Ferrari", "Fischer", "Fontaine", "Foster", "Fuchs",
    "García", "Green", "Gruber", "Gupta", "Haas", "Hansen", "Harris", "Hartmann", "Hill",
    "Hoffmann", "Horvat", "Huang", "Hughes", "Ito", "Ivanova", "Jackson", "Jansen", "Jensen",
    "Johansson", "Johnson", "Jones", "Kaiser", "Kang", "Kaya", "Keller", "Khan", "Kim", "King",
    "Klein", "Kovács", "Kowalski", "Krüger", "Lambert", "Larsen", "Lee", "Lehmann", "Lewis",
    "Lindqvist", "López", "Lund", "Maier", "Marino", "Martin", "Meyer", "Miller", "Mitchell",
    "Moore", "Moreau", "Morgan", "Müller", "Murphy", "Nakamura", "Nielsen", "Novak", "Nowak",
    "O'Brien", "Okafor", "Olsen", "Parker", "Patel", "Pereira", "Peters", "Petrov", "Phillips",
    "Popescu", "Rasmussen", "Reyes", "Richter", "Rivera", "Roberts", "Robinson", "Rossi", "Roth",
    "Rousseau", "Santos", "Sato", "Schäfer", "Schmidt", "Schneider", "Schröder", "Schulz",
    "Shah", "Silva", "Singh", "Smith", "Sørensen", "Stewart", "Suzuki", "Svoboda", "Tanaka",
    "Taylor", "Thompson", "Torres", "Turner", "Vargas", "Virtanen", "Vogel", "Wagner", "Walker",
    "Walsh", "Wang", "Weber", "Weiß", "White", "Williams", "Wilson", "Wood", "Wright", "Yamamoto",
    "Yang", "Yılmaz", "Young", "Zhang", "Zimmermann",
];

pub const TITLES: &[&str] = &[
    "Accountant", "Administrator", "Analyst", "Architect", "Assistant", "Buyer", "Clerk",
    "Consultant", "Designer", "Director", "Engineer", "Intern", "Librarian", "Nurse", "Operator",
    "Physicist", "Planner", "Researcher", "Secretary", "Senior Engineer", "Technician", "Trainer",
];

/// Number and name.
pub const DEPARTMENTS: &[(&str, &str)] = &[
    ("1010", "Board office"), ("1100", "Legal affairs"), ("1200", "Internal audit"),
    ("2100", "Accounting"), ("2200", "Purchasing"), ("2300", "Controlling"),
    ("3100", "Human resources"), ("3200", "Training"), ("4100", "Network services"),
    ("4200", "Server operations"), ("4300", "Software development"), ("4400", "Service desk"),
    ("5100", "Sales, north"), ("5200", "Sales, south"), ("5300", "Marketing"),
    ("6100", "Research, materials"), ("6200", "Research, methods"), ("7100", "Production, line 1"),
    ("7200", "Production, line 2"), ("7300", "Quality control"), ("8100", "Logistics"),
    ("9100", "Buildings and safety"),
];

/// Name and the code of its country.
pub const CITIES: &[(&str, &str)] = &[
    ("Amsterdam", "31"), ("Athens", "30"), ("Barcelona", "34"), ("Berlin", "49"), ("Bern", "41"),
    ("Boston", "1"), ("Brussels", "32"), ("Chicago", "1"), ("Copenhagen", "45"), ("Dublin", "353"),
    ("Genève", "41"), ("Göteborg", "46"), ("Helsinki", "358"), ("Istanbul", "90"), ("Kraków", "48"),
    ("Köln", "49"), ("Lisbon", "351"), ("London", "44"), ("Lyon", "33"), ("Madrid", "34"),
    ("Melbourne", "61"), ("Milano", "39"), ("Mumbai", "91"), ("München", "49"), ("Nairobi", "254"),
    ("Osaka", "81"), ("Oslo", "47"), ("Paris", "33"), ("Praha", "420"), ("Reykjavík", "354"),
    ("Roma", "39"), ("Seoul", "82"), ("Stockholm", "46"), ("Tallinn", "372"), ("Toronto", "1"),
    ("Turku", "358"), ("Vienna", "43"), ("Warszawa", "48"), ("Zagreb", "385"), ("Zürich", "41"),
];

pub const STREETS: &[&str] = &[
    "Bahnhofstraße", "Bridge Street", "Calle Mayor", "Church Road", "Dorfstraße", "Elm Avenue",
    "Garden Lane", "Hafenweg", "High Street", "Hillside", "Industriestraße", "Kirchgasse",
    "Lakeshore Drive", "Main Street", "Market Square", "Mill Road", "Parkallee", "Rue de la Gare",
    "Rue du Lac", "School Lane", "Station Road", "Storgatan", "Via Garibaldi", "Victoria Road",
];

pub const SHELLS: &[&str] = &["/bin/bash", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/sbin/nologin"];
