/**
 * Translates selections, filters and orders to a text of DO and its parameters. Only names become text, and only if they are names; every value is a
 * parameter. Calls of one shape have the same text, of which the server keeps the plan.
 */

export interface Statement {
  readonly text: string
  readonly parameters: Record<string, unknown>
}

/** What `find` is called with; the types of the caller are in `database.ts`. */
export interface Finding {
  readonly select?: Values | undefined
  readonly where?: Values | undefined
  readonly orderBy?: Values | undefined
  readonly take?: number | undefined
  /** The last row of the page before. */
  readonly after?: Values | undefined
}

export type Values = Readonly<Record<string, unknown>>

/**
 * Returns the statements whose rows, one after the other, are those that were asked for: up to `take`, counted over both. There are two if rows come before
 * and after nulls in the order: each is a range of an index, which the two together are not.
 */
export function findStatements(className: string, finding: Finding): readonly [Statement, ...Statement[]] {
  const { after, orderBy } = finding
  if (after === undefined) return [findStatement(className, finding)]
  if (orderBy === undefined) throw new TypeError(`find of ${className}: 'after' needs 'orderBy'.`)
  const parameters = new Parameters()
  const parts = pageConditions(sorted(orderBy, className), after, parameters)
  const [first, ...others] = parts.map((condition) => findStatement(className, finding, parameters.copy(), condition))
  return [first as Statement, ...others]
}

/** `condition`: a further one. */
function findStatement(
  className: string,
  { select, where, orderBy, take }: Finding,
  parameters = new Parameters(),
  condition = '',
): Statement {
  let text = fromText(className, where, parameters, condition)
  if (orderBy !== undefined) text += ` ORDER BY ${orderText(sorted(orderBy, className))}`
  if (take !== undefined) text += ` TAKE ${parameters.add(take)}`
  const returned = select === undefined ? '*' : columns(select, parameters, className, '$$ID AS "$id"')
  return { text: `${text} RETURN ${returned}`, parameters: parameters.values }
}

function fromText(className: string, where: Values | undefined, parameters: Parameters, condition = ''): string {
  const filter = where === undefined ? '' : conditions(where, '', parameters, className)
  const both = filter === '' || condition === '' ? filter + condition : `${filter} AND ${condition}`
  return `FROM ${classText(className)}${both === '' ? '' : ` WHERE ${both}`}`
}

export function countStatement(className: string, where: Values | undefined): Statement {
  const parameters = new Parameters()
  return {
    text: `${fromText(className, where, parameters)} RETURN COUNT() AS "count"`,
    parameters: parameters.values,
  }
}

/** `key`: the attributes of a unique index. */
export function upsertStatement(className: string, key: readonly string[], values: Values): Statement {
  const parameters = new Parameters()
  const names = Object.keys(values).filter((name) => values[name] !== undefined)
  const assigned = names.map((name) => `${attribute(name, className)}: ${parameters.add(values[name])}`)
  const on = key.map((name) => attribute(name, className)).join(', ')
  return { text: `UPSERT ${classText(className)} {${assigned.join(', ')}} ON (${on})`, parameters: parameters.values }
}

/** The text between the values of a template becomes text, the values parameters. */
export function templateStatement(texts: readonly string[], values: readonly unknown[]): Statement {
  const parameters = new Parameters()
  const text = texts.reduce((before, next, at) => before + parameters.add(values[at - 1]) + next)
  return { text, parameters: parameters.values }
}

class Parameters {
  readonly values: Record<string, unknown> = {}
  private count = 0

  copy(): Parameters {
    const copy = new Parameters()
    Object.assign(copy.values, this.values)
    copy.count = this.count
    return copy
  }

  /** Returns the text that stands for the value. */
  add(value: unknown): string {
    const name = `_${this.count++}`
    this.values[name] = value
    return `$${name}`
  }
}

const attributeName = /^[A-Za-z_][A-Za-z0-9_]*$/
const className = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/

function classText(name: string): string {
  if (!className.test(name)) throw new TypeError(`${describeValue(name)} is not the name of a class.`)
  return `\`${name.replaceAll('.', '`.`')}\``
}

/** Names that have been checked, in backquotes: most of the time of a translation would be for checking them again. */
const checkedNames = new Map<string, string>()
const checkedNamesMax = 10_000

function attribute(name: string, owner: string): string {
  const checked = checkedNames.get(name)
  if (checked !== undefined) return checked
  if (!attributeName.test(name))
    throw new TypeError(`${describeValue(name)} is not the name of an attribute of ${owner}.`)
  if (checkedNames.size >= checkedNamesMax) checkedNames.clear()
  checkedNames.set(name, `\`${name}\``)
  return `\`${name}\``
}

function describeValue(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 100)}'` : String(value)
}

/** An object that is written as such; others, such as a Date, are values. */
export function isFields(value: unknown): value is Values {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** `owner`: what is selected from, for messages. `begin`: the column of the OID, for rows. */
function columns(select: Values, parameters: Parameters, owner: string, begin = ''): string {
  let text = begin
  for (const name of Object.keys(select)) {
    const selected = select[name]
    if (selected === undefined || elementClauses.has(name) || (name === '$id' && begin !== '')) continue
    if (text !== '') text += ', '
    if (name === '$id') text += '$$ID AS "$id"'
    else if (selected === true) text += `${attribute(name, owner)} AS "${name}"`
    else if (isFields(selected)) text += `${attribute(name, owner)}${shape(selected, parameters, name)} AS "${name}"`
    else
      throw new TypeError(
        `select of ${owner}: '${name}' is ${describeValue(selected)}, not true or an object of attributes.`,
      )
  }
  return text
}

const elementClauses = new Set(['$where', '$orderBy', '$take'])

function shape(select: Values, parameters: Parameters, owner: string): string {
  const text = columns(select, parameters, owner)
  if (text === '') throw new TypeError(`select of ${owner} names no attribute: write true for all of it.`)
  const { $where, $orderBy, $take } = select
  let clauses = ''
  if ($where !== undefined) clauses += ` WHERE ${conditions($where, '', parameters, owner)}`
  if ($orderBy !== undefined) clauses += ` ORDER BY ${orderText(ordersOf($orderBy, '', [], owner))}`
  if ($take !== undefined) clauses += ` TAKE ${parameters.add($take)}`
  return `{${text}${clauses}}`
}

/** `path`: of the object or value that the conditions are about; empty for the object of the row or element itself. */
function conditions(where: unknown, path: string, parameters: Parameters, owner: string): string {
  if (!isFields(where))
    throw new TypeError(`where of ${owner} is ${describeValue(where)}, not an object of conditions.`)
  let text = ''
  for (const name of Object.keys(where)) {
    const value = where[name]
    if (value === undefined)
      throw new TypeError(`where of ${owner}: '${name}' is undefined. Leave it out, or compare with null.`)
    if (text !== '') text += ' AND '
    if (name.startsWith('$')) text += operation(name, value, path, parameters, owner)
    else text += comparison(value, joined(path, attribute(name, owner)), parameters, name)
  }
  return text === '' ? 'TRUE' : text
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function comparison(value: unknown, path: string, parameters: Parameters, owner: string): string {
  if (value === null) return `${path} IS NULL`
  return isFields(value) ? conditions(value, path, parameters, owner) : `${path} = ${parameters.add(value)}`
}

const symbols: ReadonlyMap<string, string> = new Map([
  ['$in', 'IN'],
  ['$lt', '<'],
  ['$lte', '<='],
  ['$gt', '>'],
  ['$gte', '>='],
  ['$contains', 'CONTAINS'],
  ['$like', 'LIKE'],
  ['$ilike', 'ILIKE'],
])

function operation(name: string, value: unknown, path: string, parameters: Parameters, owner: string): string {
  const subject = path === '' ? '$$ID' : path
  const symbol = symbols.get(name)
  if (symbol !== undefined) return `${subject} ${symbol} ${parameters.add(value)}`
  const inner = (): string => conditions(value, '', parameters, owner)
  switch (name) {
    case '$id':
      return comparison(value, subject, parameters, owner)
    case '$and':
    case '$or':
      return several(name, value, path, parameters, owner)
    case '$not':
      if (value === null) return `${subject} IS NOT NULL`
      return isFields(value)
        ? `NOT (${conditions(value, path, parameters, owner)})`
        : `${subject} != ${parameters.add(value)}`
    case '$startsWith':
      return `STARTS_WITH(${subject}, ${parameters.add(value)})`
    case '$has':
      return `${parameters.add(value)} IN ${subject}`
    case '$empty':
      return value === true ? `IS_EMPTY(${subject})` : `NOT IS_EMPTY(${subject})`
    case '$any':
      return `${subject} ANY (${inner()})`
    case '$all':
      return `${subject} ALL (${inner()})`
    case '$none':
      return `NOT (${subject} ANY (${inner()}))`
  }
  throw new TypeError(`where of ${owner}: there is no operator ${describeValue(name)}.`)
}

function several(name: string, value: unknown, path: string, parameters: Parameters, owner: string): string {
  if (!Array.isArray(value)) throw new TypeError(`where of ${owner}: ${name} is ${describeValue(value)}, not an array.`)
  if (value.length === 0) return name === '$and' ? 'TRUE' : 'FALSE'
  const parts = value.map((part) => `(${conditions(part, path, parameters, owner)})`)
  return `(${parts.join(name === '$and' ? ' AND ' : ' OR ')})`
}

interface Order {
  readonly path: string
  readonly isDescending: boolean
  /** Where a row has the value. */
  readonly names: readonly string[]
}

/** Ends with the OID, so that no two rows are equal in the order. */
function sorted(orderBy: unknown, owner: string): readonly Order[] {
  const orders = ordersOf(orderBy, '', [], owner)
  const isComplete = orders.some(({ path }) => path === '$$ID')
  return isComplete ? orders : [...orders, { path: '$$ID', isDescending: false, names: ['$id'] }]
}

function ordersOf(orderBy: unknown, path: string, names: readonly string[], owner: string): readonly Order[] {
  if (!isFields(orderBy))
    throw new TypeError(`orderBy of ${owner} is ${describeValue(orderBy)}, not an object of attributes.`)
  const orders: Order[] = []
  for (const name of Object.keys(orderBy)) {
    const order = orderBy[name]
    const inner = [...names, name]
    const subject = name === '$id' ? path || '$$ID' : joined(path, attribute(name, owner))
    if (order === 'asc' || order === 'desc')
      orders.push({ path: subject, isDescending: order === 'desc', names: inner })
    else if (isFields(order)) orders.push(...ordersOf(order, subject, inner, name))
    else throw new TypeError(`orderBy of ${owner}: '${name}' is ${describeValue(order)}, not 'asc' or 'desc'.`)
  }
  return orders
}

function orderText(orders: readonly Order[]): string {
  return orders.map(({ path, isDescending }) => (isDescending ? `${path} DESC` : path)).join(', ')
}

/** Returns the conditions of rows after `row`: with nulls last ascending, and first descending. */
function pageConditions(orders: readonly Order[], row: Values, parameters: Parameters): string[] {
  const [{ path, isDescending, names }, ...others] = orders as readonly [Order, ...Order[]]
  const value = valueAt(row, names)
  if (value === null) {
    const among = `${path} IS NULL AND ${afterText(others, row, parameters)}`
    return isDescending ? [among, `${path} IS NOT NULL`] : [among]
  }
  const symbol = isDescending ? '<' : '>'
  const parameter = parameters.add(value)
  if (others.length === 0) return [`${path} ${symbol} ${parameter}`]
  const equal = `${path} = ${parameter} AND ${afterText(others, row, parameters)}`
  const range = `${path} ${symbol}= ${parameter} AND (${path} ${symbol} ${parameter} OR ${equal})`
  return isDescending ? [range] : [range, `${path} IS NULL`]
}

function afterText(orders: readonly Order[], row: Values, parameters: Parameters): string {
  const [order, ...others] = orders
  if (order === undefined) return 'FALSE'
  const { path, isDescending, names } = order
  const value = valueAt(row, names)
  const inner = (): string => afterText(others, row, parameters)
  if (value === null) {
    const equal = `${path} IS NULL AND ${inner()}`
    return isDescending ? `(${path} IS NOT NULL OR ${equal})` : `(${equal})`
  }
  const parameter = parameters.add(value)
  const beyond = isDescending ? `${path} < ${parameter}` : `${path} > ${parameter} OR ${path} IS NULL`
  return `(${beyond} OR ${path} = ${parameter} AND ${inner()})`
}

/** A reference to nothing has null in its place. */
function valueAt(row: Values, names: readonly string[]): unknown {
  let value: unknown = row
  for (const name of names) {
    if (value === null) return null
    value = (value as Values)[name]
    if (value === undefined) throw new TypeError(`after: the row lacks ${names.join('.')}, which orderBy names.`)
  }
  return value
}
