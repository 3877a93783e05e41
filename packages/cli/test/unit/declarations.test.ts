/** TypeScript declarations of a schema: every type and property, names that TypeScript reserves, the same text in any order, and its size. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { schemaOfSource } from '../../src/schema/scratch-schema.ts'
import { type DeclarationOptions, declarationsOf } from '../../src/types/declarations.ts'

async function declared(text: string, options: DeclarationOptions = {}): Promise<string> {
  const source = { text, placeOf: () => ({ place: 'test', line: '' }) }
  const { classes } = await schemaOfSource(source)
  const written = declarationsOf(classes, options)
  expect(declarationsOf([...classes].reverse(), options)).toBe(written)
  return written
}

const everyType = `UPDATE SCHEMA {
  CREATE CLASS Shop.Address EMBEDDABLE {city: String{Required}, zip: Integer}
  CREATE CLASS Shop.Mark EMBEDDABLE {text: String}
  CREATE CLASS Shop.Party ABSTRACT {name: String{Required, Title: 'Full */ name'}, address: Object{Class: Shop.Address}, size: Integer{Storage: B64}}
  CREATE CLASS Shop.Client SUPERCLASS Shop.Party {
    orders: List{Element: Reference{Referenced: Shop.Order, Inverse: client}}, nick: String,
    kind: String{Enumeration: ('a', 'it''s' AS 'B'), Default: 'a', Required}, rank: Integer{Enumeration: (1, 2)}
  }
  CREATE CLASS Shop.Order {
    client: Reference{Referenced: Shop.Client, Inverse: orders, Required}, at: Instant, day: DateTime, total: Decimal{Scale: 2},
    places: List{Element: Object{Class: Shop.Address}}, codes: List{Element: Integer}, words: List{Element: String{Enumeration: ('x', 'y')}},
    data: Json, raw: Bytes, paid: Boolean, rate: Real, target: Reference{Referenced: ooObj}, mark: Object{Class: Shop.Mark},
    byName: Map{CollectionTypeName: NameToReferenceMap, Key: String, Element: Reference{Referenced: Shop.Client}},
    seller: Reference{Referenced: Shop.Client, Required}, keeper: Reference{Referenced: Shop.Client, Required, OnTargetDelete: Restrict},
    count: Integer = (LENGTH(codes)), number: Integer{ReadOnly, Required}
  }
  CREATE CLASS Date {\`class\`: String}
}`.replaceAll("it''s", String.raw`it\'s`)

it('has every type, what a creation must give, and what cannot be written', async () => {
  expect(
    await declared(everyType),
  ).toBe(`/** Written by \`ashlar types\`. Do not edit: run it again after changes of the schema. */
import type { Bytes, Decimal, Entity, Fields, Id, Json, Keyed, Many, One, Part, Parts, is } from '@ashlar/client'

export interface Schema {
	Date: Date$
	'Shop.Client': Shop$Client
	'Shop.Order': Shop$Order
	'Shop.Party': Shop$Party
}

export interface Date$ {
	$id: Id<'Date'>
	class: string|null
}

export interface Shop$Address {
	[is]: Fields<'city'>
	city: string
	zip: number|null
}

export interface Shop$Client extends Shop$Party {
	$id: Id<'Shop.Client'>
	kind: 'a'|'it\\'s'
	nick: string|null
	orders: Many<Shop$Order, 'client'>
	rank: 1|2|null
}

export interface Shop$Mark {
	text: string|null
}

export interface Shop$Order {
	$id: Id<'Shop.Order'>
	[is]: Fields<'client'|'keeper'|'number'|'seller', 'count', 'number'>
	at: string|null
	byName: Keyed<Shop$Client>
	client: One<Shop$Client, 'orders'>
	codes: number[]
	count: number|null
	data: Json
	day: string|null
	keeper: One<Shop$Client>
	mark: Part<Shop$Mark>
	number: number
	paid: boolean|null
	places: Parts<Shop$Address>
	rate: number|null
	raw: Bytes|null
	seller: One<Shop$Client>|null
	target: One<Entity>|null
	total: Decimal|null
	words: ('x'|'y')[]
}

export interface Shop$Party {
	$id: Id<'Shop.Client'>
	[is]: Fields<'address'|'name'>
	address: Part<Shop$Address>
	/** Full * / name */
	name: string
	size: number|null
}
`)
})

it('has the declarations that the tests of the client compile', async () => {
  const file = (extension: string) =>
    readFileSync(new URL(`../../../client/test/typed-schema.${extension}`, import.meta.url), 'utf8')
  expect(await declared(file('do'))).toBe(file('d.ts'))
})

it('says with which options of the client values are read', async () => {
  const written = await declared('UPDATE SCHEMA { CREATE CLASS A {at: Instant, n: Integer{Storage: B64}} }', {
    dates: true,
    bigint: true,
  })
  expect(written).toContain("\t[reads]: { dates: true; integers: 'bigint' }\n")
  expect(written).toContain('\tat: Date|null\n\tn: number|bigint|null\n')
})

it('leaves out what a subclass hides, and adds to what it inherits', async () => {
  const written = await declared(`UPDATE SCHEMA {
    CREATE CLASS A {x: Integer{Required}, y: Integer{Required}} CREATE CLASS B SUPERCLASS A {x: String}
    CREATE CLASS C SUPERCLASS A {z: Integer{Required}} CREATE CLASS D SUPERCLASS C {z: Integer = (1)}
  }`)
  expect(written).toContain(
    "interface B extends Omit<A, 'x'|typeof is> {\n\t$id: Id<'B'>\n\t[is]: Fields<'y'>\n\tx: string|null\n",
  )
  expect(written).toContain(
    "interface C extends A {\n\t$id: Id<'C'|'D'>\n\t[is]: Fields<'z'>&A[typeof is]\n\tz: number\n",
  )
  expect(written).toContain("\t[is]: Fields<'x'|'y', 'z'>\n\tz: number|null\n")
  expect(await declared('UPDATE SCHEMA {}')).toContain('\nexport interface Schema {\n}\n')
})

it('takes at most 0.6 kB for a class of 22 attributes', async () => {
  const names =
    'title status isOpen price dueAt name amount isPaid weight createdAt city quantity isActive total updatedAt email number isPublic discount endsAt'.split(
      ' ',
    )
  const types = ['String', 'Integer', 'Boolean{Required}', 'Decimal{Scale: 2}', 'Instant']
  const classes = Array.from({ length: 100 }, (_, at) => {
    const scalars = names.map((name, column) => `${name}: ${types[column % types.length]}`)
    const links = `owner: Reference{Referenced: Model${(at + 1) % 100}}, members: List{Element: Reference{Referenced: Model${at}}}`
    return `CREATE CLASS Model${at} {${scalars.join(', ')}, ${links}}`
  })
  const written = await declared(`UPDATE SCHEMA {${classes.join(' ')}}`)
  // 578 bytes.
  expect(written.length / classes.length).toBeLessThan(600)
})
