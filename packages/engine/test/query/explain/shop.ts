/** Clients and orders for tests of EXPLAIN. */

export const shop: readonly string[] = [
  `UPDATE SCHEMA {
    CREATE CLASS Client {name: String, age: Integer, orders: List{Element: Reference{Referenced: Order, Inverse: client}}}
    CREATE CLASS Order {no: Integer, total: Integer, client: Reference{Referenced: Client, Inverse: orders}}
  }`,
  'CREATE INDEX clientAge ON Client (age)',
  'CREATE UNIQUE INDEX orderNo ON Order (no)',
  `FOR EACH a IN LIST{25, 25, 30, 41} => (CREATE Client {name: 'c', age: $a});
   FOR EACH n IN LIST{1, 2} => (CREATE Order {no: $n, total: 5, client: (LOOKUP Client WHERE age = 30)})`,
]
