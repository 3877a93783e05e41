/** Texts of the shell: where statements end, what is completed, and that its words are those of the language. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ClassRepresentation } from '@ashlar/client'
import { describe, expect, it } from 'vitest'
import { completeText } from '../../src/shell/complete-text.ts'
import { helpTopics } from '../../src/shell/help-topics.ts'
import { asOneLine } from '../../src/shell/history.ts'
import { SchemaView } from '../../src/shell/known-schema.ts'
import { StatementReader } from '../../src/shell/statement-reader.ts'
import { functionNames, keywords, systemVariables, typeNames } from '../../src/shell/words.ts'

const page = readFileSync(fileURLToPath(new URL('../../../../docs/query-language.md', import.meta.url)), 'utf8')

describe('a statement ends', () => {
  const sentBy = (lines: readonly string[]): (string | undefined)[] => {
    const reader = new StatementReader()
    return lines.map((line) => reader.add(line))
  }

  it.each([
    [['SHOW 1;'], [0]],
    [['FROM C', 'RETURN x; // done'], [1]],
    [["SHOW ';", "';"], [1]],
    [['SHOW 1 /* ;', '; */ ;'], [1]],
    [['FOR EACH i IN LIST{1} => (SHOW $i;', 'SHOW 2;', ');'], [2]],
    [['LET a = 1;', 'LET b = 2;', 'SHOW $a + $b;'], [2]],
    [["USE Date FORMAT 'd';", 'SHOW 1;'], [1]],
    [['// ;', '', ';', 'SHOW 1;'], [3]],
    [['SHOW `a;', '`;'], [1]],
    [["SHOW 'it\\'s;", "';"], [1]],
    [['SHOW 1; SHOW', '2;'], [1]],
    [['SHOW )', ';'], [1]],
  ])('%j at line %j', (lines, ends) => {
    const sent = sentBy(lines).flatMap((text, at) => (text === undefined ? [] : [at]))
    expect(sent).toEqual(ends)
  })

  it('with what is there, where that is asked for', () => {
    const reader = new StatementReader()
    reader.add('FROM C')
    expect(reader.open).toBeUndefined()
    reader.add('RETURN (')
    expect(reader.open).toBe('(')
    expect(reader.take()).toBe('FROM C\nRETURN (')
    expect(reader.isEmpty).toBe(true)
    expect(reader.take()).toBeUndefined()
    reader.add("SHOW '")
    expect(reader.open).toBe("'")
    expect(reader.takesCommands).toBe(false)
  })
})

it('the history has a statement as one line, unless it would be another one', () => {
  expect(asOneLine('FROM C\n  RETURN x;')).toBe('FROM C RETURN x;')
  expect(asOneLine("FROM C\nWHERE a = '//'\nRETURN x;")).toBe("FROM C WHERE a = '//' RETURN x;")
  expect(asOneLine('FROM C // all\nRETURN x;')).toBeUndefined()
  expect(asOneLine("SHOW 'a\n b';")).toBeUndefined()
})

describe('completion', () => {
  const common = { classNumber: '1', shapeNumber: '1', isReferenceable: true, isInternal: false, isDeleted: false }
  const reference = (referencedClass: string) => ({ logicalType: 'reference', referencedClass })
  const classes: ClassRepresentation[] = [
    {
      ...common,
      className: 'Shop.Person',
      superClass: null,
      attributes: [{ attributeName: 'name', logicalType: 'string' }],
    },
    {
      ...common,
      className: 'Shop.Client',
      superClass: 'Shop.Person',
      attributes: [{ attributeName: 'orders', logicalType: 'list', elementSpecification: reference('Shop.Order') }],
    },
    {
      ...common,
      className: 'Shop.Order',
      superClass: null,
      attributes: [{ attributeName: 'client', ...reference('Shop.Client') }],
    },
    { ...common, className: 'Old.Order', superClass: null, attributes: [] },
  ]
  const schema = new SchemaView(classes, [])

  it.each([
    ['', 'FROM'],
    ['fr', 'from'],
    ['FROM Cl', 'Client'],
    ['FROM Shop.Or', 'Shop.Order'],
    ['FROM ONLY Per', 'Person'],
    ['FROM Client WHERE na', 'name'],
    ['FROM Client WHERE orders.cl', 'client'],
    ['FROM Client WHERE orders.client.or', 'orders'],
    ['FROM Client WHERE orders[0].cl', 'client'],
    ['FROM Clients RETURN or', 'orders'],
    ['FROM Client RETURN up', 'upper('],
    ['MATCH (c:Cli', 'Client'],
    ['MATCH (c:Client)-[:or', 'orders'],
    ['MATCH (c:Client)-->(o) WHERE c.na', 'name'],
    ["LET x = LOOKUP Client WHERE name = ''; SHOW $x.or", 'orders'],
    ['LET xyz = 1; SHOW $xy', '$xyz'],
    ['SHOW $gi', '$given'],
    ['SHOW $$N', '$$NOW'],
    ['UPDATE Client SET na', 'name'],
    ['UPDATE SCHEMA { CREATE CLASS A {a: Str', 'String'],
    ['UPDATE SCHEMA { CREATE CLASS A {a: Reference{Referenced: Shop.Pe', 'Shop.Person'],
    ['CREATE INDEX i ON Shop.Cl', 'Shop.Client'],
  ])('of %j has %j', (text, candidate) => {
    expect(completeText(text, schema, ['given']).candidates).toContain(candidate)
  })

  it.each(["SHOW 'FR", 'FROM Order', 'FROM Client WHERE name.x', '/* FR'])('of %j has nothing', (text) => {
    expect(completeText(text, schema, []).candidates).toEqual([])
  })

  it('shows the attributes of a class with those of its superclasses first', () => {
    expect(schema.attributesOf(classes[1] as ClassRepresentation).map(({ className }) => className)).toEqual([
      'Shop.Person',
      'Shop.Client',
    ])
  })
})

describe('words of the shell', () => {
  it.each([...keywords, ...functionNames, ...systemVariables, ...typeNames])(
    '%s is in docs/query-language.md',
    (word) => {
      for (const part of word.split(' ')) expect(page.includes(part) || page.includes(part.toLowerCase())).toBe(true)
    },
  )

  it('syntax is that of docs/query-language.md', () => {
    for (const line of Object.values(helpTopics).flat()) expect(page).toContain(line)
  })
})
