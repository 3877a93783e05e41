/**
 * What a transaction of a workload does, one action after the other: each as statements of DO, whose value says what it has seen, and as an operation of
 * `POST /v1/transaction`. All values that statements read are lists of lists of integers, since the text returns them in one list.
 */
import type { Loose } from './connection.ts'
import type { Step } from './history.ts'

export interface Operation {
  readonly method: string
  readonly uri: string
  readonly body?: unknown
}

export interface Action {
  /** Statements, among them `LET name = …`; `sees` is false where there is nothing to read. */
  readonly statements: (name: string) => readonly string[]
  readonly sees: boolean
  /** What it has done and seen, by the value of its variable. */
  readonly stepsOf: (value: Loose) => readonly Step[]
  /** Its writes, where nobody knows whether they were made. */
  readonly writes: readonly Step[]
  /** As an operation of a batch, with the steps by its result. */
  readonly operation: Operation
  readonly stepsOfResult: (result: Loose) => readonly Step[]
}

const queryOf = (query: string): Operation => ({ method: 'post', uri: '/v1/query', body: { query } })
const firstColumn = (rows: Loose): number[] => rows.map((row: Loose) => Object.values(row)[0])

/** Numbers in lists within lists, or in rows. */
function numbersIn(value: Loose): number[] {
  if (typeof value === 'number') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.values(value).flatMap(numbersIn)
}

/** A statement of which nothing is read. */
function blind(statement: string, writes: readonly Step[], operation = queryOf(statement)): Action {
  const steps = (): readonly Step[] => writes
  return { statements: () => [statement], sees: false, stepsOf: steps, writes, operation, stepsOfResult: steps }
}

/** A query whose rows are lists of integers, or, in a batch, rows of one column. */
function reading(rows: string, stepsOf: (numbers: readonly number[]) => readonly Step[]): Action {
  return {
    statements: (name) => [`LET ${name} = (${rows})`],
    sees: true,
    stepsOf: (value) => stepsOf(numbersIn(value)),
    writes: [],
    operation: queryOf(rows),
    stepsOfResult: (result) => stepsOf(numbersIn(result)),
  }
}

export function append(keys: readonly number[], value: number, style: 'each' | 'range'): Action {
  const writes = keys.map((list): Step => ({ kind: 'append', list, value }))
  const [first, last] = [keys[0], keys.at(-1)]
  if (keys.length === 1) return blind(`UPDATE Cell WHERE key = ${first} ADD ${value} TO list`, writes)
  if (style === 'range')
    return blind(`UPDATE Cell WHERE key >= ${first} AND key <= ${last} ADD ${value} TO list`, writes)
  const each = `UPDATE Cell WHERE key = $key ADD ${value} TO list`
  return blind(`FOR EACH key IN LIST{${keys.join(', ')}} => (${each})`, writes)
}

export function readCell(key: number, oid: string, style: 'from' | 'lookup'): Action {
  const ofList = (values: readonly number[]): Step[] => [{ kind: 'readList', list: key, values }]
  const action = reading(`FROM Cell WHERE key = ${key} RETURN list`, ofList)
  const statements = (name: string): string[] => {
    return [`LET ${name}o = (LOOKUP Cell WHERE key = ${key})`, `LET ${name} = LIST{$${name}o.list}`]
  }
  return {
    ...action,
    ...(style === 'lookup' ? { statements } : {}),
    operation: { method: 'get', uri: `/v1/object/${oid}` },
    stepsOfResult: ({ list, value }) => [...ofList(list), { kind: 'read', register: key, value }],
  }
}

export function readRegister(key: number): Action {
  return reading(`FROM Cell WHERE key = ${key} RETURN LIST{value}`, ([value = 0]) => [
    { kind: 'read', register: key, value },
  ])
}

export function writeRegister(key: number, oid: string, value: number): Action {
  const operation = { method: 'put', uri: `/v1/object/${oid}`, body: { attributes: { value } } }
  return blind(
    `UPDATE Cell WHERE key = ${key} SET value TO ${value}`,
    [{ kind: 'write', register: key, value }],
    operation,
  )
}

export interface Spot {
  /** A place, or the number of an owner. */
  readonly place: number
  readonly isOwner: boolean
}

function attributesOf({ place, isOwner }: Spot): string {
  return isOwner ? `owner: (LOOKUP Owner WHERE number = ${place})` : `place: ${place}`
}

export function createItem(item: number, spot: Spot): Action {
  const statement = `CREATE Item {number: ${item}, ${attributesOf(spot)}}`
  const writes: Step[] = [{ kind: 'place', item, version: 1, place: spot.place }]
  if (spot.isOwner) return blind(statement, writes)
  const body = { class: 'History.Item', attributes: { number: item, place: spot.place } }
  return blind(statement, writes, { method: 'post', uri: '/v1/object', body })
}

/** Creates an item unless there is one. */
export function createWhereNone(item: number, spot: Spot): Action {
  const { place, isOwner } = spot
  const from = isOwner ? `Item WHERE owner.number = ${place}` : `Item WHERE place = ${place}`
  const writes: Step[] = [{ kind: 'place', item, version: 1, place }]
  const stepsOf = (value: Loose): Step[] => {
    const isEmpty = numbersIn(value)[0] === 0
    return [{ kind: 'find', from: place, to: place, items: isEmpty ? [] : 'some' }, ...(isEmpty ? writes : [])]
  }
  const count = `(FROM ${from} RETURN COUNT())`
  const branch = (name: string): string =>
    `IF $${name}n = 0 THEN (CREATE Item {number: ${item}, ${attributesOf(spot)}})`
  const statements = (name: string): string[] => [
    `LET ${name}n = ${count}`,
    `LET ${name} = LIST{LIST{$${name}n}}`,
    branch(name),
  ]
  const operation = queryOf(`${statements('n').join('; ')}; SHOW $n`)
  return { statements, sees: true, stepsOf, writes, operation, stepsOfResult: stepsOf }
}

/** Moves an item, or deletes it where the spot is undefined, if it is there. */
export function moveItem(item: number, spot: Spot | undefined): Action {
  const writes: Step[] = [{ kind: 'place', item, version: 2, place: spot?.place ?? 0 }]
  const stepsOf = (value: Loose): readonly Step[] => {
    return numbersIn(value).length > 0 ? writes : [{ kind: 'readItem', item, version: 0 }]
  }
  const other = spot?.isOwner === true ? ', place TO 0' : ', owner TO null'
  const change =
    spot === undefined
      ? `DELETE Item WHERE number = ${item}`
      : `UPDATE Item WHERE number = ${item} SET ${attributesOf(spot).replace(':', ' TO')}${other}`
  return {
    statements: (name) => [`LET ${name} = (FROM Item WHERE number = ${item} RETURN LIST{number})`, change],
    sees: true,
    stepsOf,
    writes,
    operation: queryOf(`${change} RETURN number`),
    stepsOfResult: (rows) => stepsOf(firstColumn(rows)),
  }
}

export type Search = 'equal' | 'range' | 'collect' | 'count' | 'path' | 'match' | 'links'

export function find(from: number, to: number, search: Search): Action {
  const found = (items: readonly number[]): Step[] => [{ kind: 'find', from, to, items }]
  switch (search) {
    case 'equal':
      return reading(`FROM Item WHERE place = ${from} RETURN LIST{number}`, found)
    case 'range':
      return reading(`FROM Item WHERE place >= ${from} AND place <= ${to} RETURN LIST{number}`, found)
    case 'collect':
      return reading(`FROM Item WHERE place BETWEEN ${from} AND ${to} GROUP BY place RETURN COLLECT(number)`, found)
    case 'count':
      return counting(from)
    case 'path':
      return reading(`FROM Item WHERE owner.number = ${from} RETURN LIST{number}`, found)
    case 'match':
      return reading(`MATCH (o:Owner {number: ${from}})-[:items]->(i) RETURN LIST{i.number}`, found)
    case 'links':
      return reading(`FROM Owner WHERE number = ${from} RETURN items.number`, found)
  }
}

/** The number alone, which takes other ways than the rows: it says for sure only that there is nothing. */
function counting(place: number): Action {
  const count = `FROM Item WHERE place = ${place} RETURN COUNT()`
  const action = reading(count, ([n]) => [{ kind: 'find', from: place, to: place, items: n === 0 ? [] : 'some' }])
  return { ...action, statements: (name) => [`LET ${name} = LIST{LIST{(${count})}}`] }
}

/** One statement: appends if a place is empty. Its rows say whether it was. */
export function appendWhereNone(key: number, value: number, place: number, style: 'exists' | 'count'): Action {
  const writes: Step[] = [{ kind: 'append', list: key, value }]
  const none =
    style === 'exists'
      ? `NOT EXISTS(FROM Item i WHERE i.place = ${place})`
      : `(FROM Item i WHERE i.place = ${place} RETURN COUNT()) = 0`
  const statement = `UPDATE Cell WHERE key = ${key} AND ${none} ADD ${value} TO list RETURN key`
  const stepsOf = (rows: Loose): Step[] => {
    const isEmpty = rows.length > 0
    return [{ kind: 'find', from: place, to: place, items: isEmpty ? [] : 'some' }, ...(isEmpty ? writes : [])]
  }
  return {
    statements: () => [statement],
    sees: false,
    stepsOf,
    writes,
    operation: queryOf(statement),
    stepsOfResult: stepsOf,
  }
}
