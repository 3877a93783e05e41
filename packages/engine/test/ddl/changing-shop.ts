/** A shop with objects of every form, for tests that change its schema. */
import { expect } from 'vitest'
import type { QueryDatabase } from '../query/query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Shop.Address EMBEDDABLE {city: String, zip: Integer}
  CREATE CLASS Shop.Client {
    name: String, age: Integer, note: String, address: Object{Class: Shop.Address}, homes: List{Element: Object{Class: Shop.Address}},
    orders: List{Element: Reference{Referenced: Shop.Order, Inverse: client}}, tags: Set{Element: Reference{Referenced: Shop.Item}}
  }
  CREATE CLASS Shop.Company SUPERCLASS Shop.Client {taxNumber: Integer}
  CREATE CLASS Shop.Order {number: Integer, client: Reference{Referenced: Shop.Client, Inverse: orders}, items: List{Element: Reference{Referenced: Shop.Item}}}
  CREATE CLASS Shop.Item {title: String}
  CREATE CLASS Shop.Book SUPERCLASS Shop.Item {pages: Integer}
}`

const data = `
  LET pen = CREATE Item {title: 'pen'};
  LET book = CREATE Book {title: 'book', pages: 9};
  CREATE Client {name: 'Ann', age: 30, note: '7', address: Address{city: 'Oslo', zip: 150}, tags: SET{$pen, $book},
    homes: LIST{Address{city: 'A', zip: 1}, Address{city: 'B', zip: 2}},
    orders: LIST{CREATE Order {number: 1, items: LIST{$pen, $book, $pen}}, CREATE Order {number: 2}}};
  CREATE Company {name: 'Dunn', age: 300, note: 'seven', taxNumber: 5}`

export const shop = [schema, data]

export async function client(db: QueryDatabase, name = 'Ann'): Promise<Record<string, unknown>> {
  const rows = await db.rows('FROM Shop.Client WHERE name = $name RETURN *', { name })
  expect(rows).toHaveLength(1)
  return rows[0] as Record<string, unknown>
}

/** The error of a change that is refused. */
export async function refusal(
  change: Promise<unknown>,
): Promise<{ type: string; message: string; errors: unknown; extensions: unknown }> {
  return change.then(
    () => {
      throw new Error('the change was not refused')
    },
    (error) => error,
  )
}
