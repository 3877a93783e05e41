UPDATE SCHEMA {
  CREATE CLASS Address EMBEDDABLE {city: String, zip: Integer}
  CREATE CLASS Party ABSTRACT {name: String{Required}, address: Object{Class: Address}}
  CREATE CLASS Person SUPERCLASS Party {
    tasks: List{Element: Reference{Referenced: Work.Task, Inverse: owner}},
    friends: List{Element: Reference{Referenced: Person}}
  }
  CREATE CLASS Badge {code: Integer, text: String, holder: Reference{Referenced: Person}}
  CREATE CLASS Work.Task {
    number: Integer{ReadOnly}, title: String{Required}, points: Integer, rank: Real, due: Instant, isUrgent: Boolean,
    status: String{Enumeration: ('open', 'done'), Default: 'open', Required},
    owner: Reference{Referenced: Person, Inverse: tasks}, labels: List{Element: String},
    places: List{Element: Object{Class: Address}}, size: Integer = (LENGTH(title)),
    helpers: Map{CollectionTypeName: NameToReferenceMap, Key: String, Element: Reference{Referenced: Person}}
  }
};
CREATE UNIQUE INDEX byCode ON Badge (code);
