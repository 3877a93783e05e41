/** A small shop: clients with addresses, tags and orders; orders with items; every count small enough to know by heart. */

export const shopSchema = `UPDATE SCHEMA {
  CREATE CLASS Shop.Address EMBEDDABLE {city: String, zip: Integer}
  CREATE CLASS Shop.Client {
    name: String, age: Integer, address: Object{Class: Shop.Address}, tags: List{Element: String},
    homes: List{Element: Object{Class: Shop.Address}},
    orders: List{Element: Reference{Referenced: Shop.Order, Inverse: client}},
    friends: Set{Element: Reference{Referenced: Shop.Client}},
    byYear: Map{Key: String, Element: Reference{Referenced: Shop.Order}}
  }
  CREATE CLASS Shop.Company SUPERCLASS Shop.Client {taxNumber: Integer}
  CREATE CLASS Shop.Order {
    number: Integer, total: Real, day: Date, client: Reference{Referenced: Shop.Client, Inverse: orders},
    items: List{Element: Reference{Referenced: Shop.Item}}
  }
  CREATE CLASS Shop.Item {title: String, price: Real, count: Integer}
}`

const shopData = `
  LET ann = CREATE Client {name: 'Ann', age: 30, address: Address{city: 'Oslo', zip: 150}, tags: LIST{'a', 'b', 'c'},
    homes: LIST{Address{city: 'Oslo', zip: 150}, Address{city: 'Bergen', zip: 5003}}};
  LET bob = CREATE Client {name: 'Bob', age: 25, address.city: 'Bergen', tags: LIST{'b'}, friends: SET{$ann}};
  LET cleo = CREATE Client {name: 'Cleo', age: null, address.city: null, friends: SET{$ann, $bob}};
  LET dunn = CREATE Company {name: 'Dunn Ltd', age: 25, address.city: 'Oslo', taxNumber: 77};
  LET pen = CREATE Item {title: 'pen', price: 2.5, count: 100};
  LET ink = CREATE Item {title: 'ink', price: 10.0, count: 3};
  CREATE Order {number: 1, total: 12.5, day: 2024-01-10, client: $ann, items: LIST{$pen, $ink}};
  CREATE Order {number: 2, total: 5.0, day: 2024-02-10, client: $ann, items: LIST{$pen, $pen}};
  CREATE Order {number: 3, total: 20.0, day: 2024-02-11, client: $bob, items: LIST{$ink, $ink}};
  CREATE Order {number: 4, total: 2.5, day: 2024-03-01, client: $dunn, items: LIST{$pen}};
  CREATE Order {number: 5, total: null, day: 2024-03-02}`

export const shop = [shopSchema, shopData]
