/** Places, roads and people for tests of MATCH, small enough to know by heart. */
import type { QueryDatabase } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Net.Place {name: String, size: Integer, roads: List{Element: Reference{Referenced: Net.Place}},
    mayor: Reference{Referenced: Net.Person, Inverse: governs}, twins: Set{Element: Reference{Referenced: Net.Place}}}
  CREATE CLASS Net.City SUPERCLASS Net.Place {zip: Integer, byName: Map{Key: String, Element: Reference{Referenced: Net.Person}}}
  CREATE CLASS Net.Person {name: String, governs: Reference{Referenced: Net.Place, Inverse: mayor},
    friends: List{Element: Reference{Referenced: Net.Person, Inverse: friends}}}
}`

/** a → b → c → a, c → d, d → d; e apart. Ann governs a, Bob b; Ann and Bob are friends. */
const net = `
  LET e = CREATE Place {name: 'e', size: 5};
  LET d = CREATE City {name: 'd', size: 4, zip: 44};
  LET c = CREATE Place {name: 'c', size: 3};
  LET b = CREATE Place {name: 'b', size: 2, roads: LIST{$c}};
  LET a = CREATE City {name: 'a', size: 1, zip: 11, roads: LIST{$b}, twins: SET{$e}};
  UPDATE Place WHERE $$ID = $c SET roads TO LIST{$a, $d};
  UPDATE Place WHERE $$ID = $d SET roads TO LIST{$d};
  LET ann = CREATE Person {name: 'Ann', governs: $a};
  LET bob = CREATE Person {name: 'Bob', governs: $b, friends: LIST{$ann}};
  UPDATE City WHERE $$ID = $a SET byName TO MAP{'x': $bob}`

export const network: readonly string[] = [schema, net]

/** The values of each row, in order. */
export async function found(db: QueryDatabase, text: string, parameters = {}): Promise<string[]> {
  const rows = await db.rows(text, parameters)
  return rows.map((row) => Object.values(row).join(' ')).sort()
}
