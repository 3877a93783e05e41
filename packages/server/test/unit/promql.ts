/** What the alert rules use of PromQL, evaluated as Prometheus does: over samples by time, to the moment at which an alert fires. */

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** In order. `at`: seconds. */
  readonly samples: readonly { readonly at: number; readonly value: number }[]
}

export interface Element {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A selector with a range is a list of series; other expressions are a number or a vector. */
type Value = number | readonly Element[] | readonly Series[]
type Evaluation = (at: number) => Value

/** An instant selector takes the latest sample of so many seconds. */
const lookbackSeconds = 300
const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const token =
  /\s*(?:(\d+(?:\.\d+)?)(?![smhd\w])|([a-zA-Z_:][\w:]*)|(==|!=|<=|>=|=~|!~|[-+*/<>=(){}[\],])|"((?:[^"\\]|\\.)*)"|(\d+)([smhd]))/y

interface Token {
  readonly kind: 'number' | 'name' | 'sign' | 'text' | 'duration'
  readonly text: string
}

export function durationSeconds(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const factor = secondsOf[unit]
  if (factor === undefined) throw new Error(`no duration: ${text}`)
  return Number(count) * factor
}

function tokens(text: string): Token[] {
  const found: Token[] = []
  token.lastIndex = 0
  while (token.lastIndex < text.trimEnd().length) {
    const from = token.lastIndex
    const match = token.exec(text)
    if (match === null) throw new Error(`not understood: ${text.slice(from)}`)
    const [, number, name, sign, quoted, count, unit] = match
    if (number !== undefined) found.push({ kind: 'number', text: number })
    else if (name !== undefined) found.push({ kind: 'name', text: name })
    else if (sign !== undefined) found.push({ kind: 'sign', text: sign })
    else if (quoted !== undefined) found.push({ kind: 'text', text: quoted })
    else found.push({ kind: 'duration', text: `${count}${unit}` })
  }
  return found
}

/** Later ones bind closer. */
const operators: readonly (readonly string[])[] = [
  ['or'],
  ['and', 'unless'],
  ['==', '!=', '<=', '<', '>=', '>'],
  ['+', '-'],
  ['*', '/'],
]

class Parser {
  private readonly tokens: readonly Token[]
  private readonly series: readonly Series[]
  private next = 0

  constructor(text: string, series: readonly Series[]) {
    this.tokens = tokens(text)
    this.series = series
  }

  all(): Evaluation {
    const parsed = this.binary(0)
    if (this.next < this.tokens.length) throw new Error(`more than an expression: ${this.tokens[this.next]?.text}`)
    return parsed
  }

  private binary(level: number): Evaluation {
    const names = operators[level]
    if (names === undefined) return this.unary()
    let left = this.binary(level + 1)
    while (names.includes(this.peek())) {
      const operator = this.take()
      const on = this.peek() === 'on' ? this.names('on') : undefined
      const [before, right] = [left, this.binary(level + 1)]
      left = (at) => combined(operator, vectorOf(before(at)), vectorOf(right(at)), on)
    }
    return left
  }

  private unary(): Evaluation {
    const { kind, text } = this.tokens[this.next] ?? { kind: 'sign', text: 'the end' }
    this.next++
    if (kind === 'number') return () => Number(text)
    if (text === '(') {
      const inner = this.binary(0)
      this.expect(')')
      return inner
    }
    if (kind !== 'name') throw new Error(`unexpected: ${text}`)
    if (text === 'sum' || text === 'max') return this.aggregation(text)
    return this.peek() === '(' ? this.call(text) : this.selector(text)
  }

  private aggregation(name: 'sum' | 'max'): Evaluation {
    const by = this.peek() === 'by' ? this.names('by') : []
    this.expect('(')
    const inner = this.binary(0)
    this.expect(')')
    return (at) => aggregated(name, by, elementsOf(inner(at)))
  }

  private call(name: string): Evaluation {
    this.expect('(')
    const given: Evaluation[] = [this.binary(0)]
    while (this.peek() === ',') {
      this.expect(',')
      given.push(this.binary(0))
    }
    this.expect(')')
    const [first, second] = given as [Evaluation, Evaluation]
    if (name === 'histogram_quantile') return (at) => quantiles(Number(first(at)), elementsOf(second(at)))
    const perSeries = functions[name]
    if (perSeries === undefined) throw new Error(`no function of ours: ${name}`)
    return (at) =>
      (first(at) as readonly (Series & { readonly range: number })[]).flatMap((one) => {
        const value = perSeries(one, at)
        return value === undefined ? [] : [{ labels: withoutName(one.labels), value }]
      })
  }

  private selector(name: string): Evaluation {
    const wanted: ((labels: Series['labels']) => boolean)[] = [(labels) => labels.__name__ === name]
    if (this.peek() === '{') {
      this.expect('{')
      while (this.peek() !== '}') {
        const [label, sign, text] = [this.take(), this.take(), this.take()]
        if (sign === '=') wanted.push((labels) => (labels[label] ?? '') === text)
        else if (sign === '=~') wanted.push((labels) => new RegExp(`^(?:${text})$`).test(labels[label] ?? ''))
        else throw new Error(`no matcher of ours: ${sign}`)
        if (this.peek() === ',') this.expect(',')
      }
      this.expect('}')
    }
    const found = this.series.filter(({ labels }) => wanted.every((fits) => fits(labels)))
    if (this.peek() !== '[') {
      return (at) =>
        found.flatMap(({ labels, samples }) => {
          const last = samples.findLast((one) => one.at <= at && one.at > at - lookbackSeconds)
          return last === undefined ? [] : [{ labels, value: last.value }]
        })
    }
    this.expect('[')
    const range = durationSeconds(this.take())
    this.expect(']')
    return (at) =>
      found.map(({ labels, samples }) => {
        return { labels, range, samples: samples.filter((one) => one.at <= at && one.at > at - range) }
      })
  }

  private names(word: string): string[] {
    this.expect(word)
    this.expect('(')
    const found: string[] = []
    while (this.peek() !== ')') {
      found.push(this.take())
      if (this.peek() === ',') this.expect(',')
    }
    this.expect(')')
    return found
  }

  private peek(): string {
    return this.tokens[this.next]?.text ?? ''
  }

  private take(): string {
    return this.tokens[this.next++]?.text ?? ''
  }

  private expect(text: string): void {
    const found = this.take()
    if (found !== text) throw new Error(`${text} expected, not ${found}`)
  }
}

type OfSeries = (series: Series & { readonly range: number }, at: number) => number | undefined

const functions: Readonly<Record<string, OfSeries>> = {
  increase,
  rate: (series, at) => {
    const found = increase(series, at)
    return found === undefined ? undefined : found / series.range
  },
  max_over_time: ({ samples }) => (samples.length === 0 ? undefined : Math.max(...samples.map(({ value }) => value))),
  avg_over_time: ({ samples }) =>
    samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0) / samples.length,
}

/** With resets of the counter, extrapolated to the range. */
function increase({ samples, range }: Parameters<OfSeries>[0], at: number): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 2) return undefined
  let found = last.value - first.value
  for (const [nth, { value }] of samples.entries()) {
    const before = samples[nth - 1]?.value ?? 0
    if (nth > 0 && value < before) found += before
  }
  const sampled = last.at - first.at
  const between = sampled / (samples.length - 1)
  let toStart = first.at - (at - range)
  const toEnd = at - last.at
  if (found > 0 && first.value >= 0) toStart = Math.min(toStart, sampled * (first.value / found))
  const extrapolate = (seconds: number): number => (seconds < between * 1.1 ? seconds : between / 2)
  return (found * (sampled + extrapolate(toStart) + extrapolate(toEnd))) / sampled
}

function withoutName({ __name__: _, ...labels }: Series['labels']): Series['labels'] {
  return labels
}

function elementsOf(value: Value): readonly Element[] {
  if (typeof value === 'number') throw new Error('a number where a vector is needed')
  return value as readonly Element[]
}

function vectorOf(value: Value): number | readonly Element[] {
  return typeof value === 'number' ? value : elementsOf(value)
}

function keyOf(labels: Series['labels'], on: readonly string[] | undefined): string {
  const kept = Object.entries(withoutName(labels)).filter(([name]) => on === undefined || on.includes(name))
  return JSON.stringify(kept.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function aggregated(name: 'sum' | 'max', by: readonly string[], elements: readonly Element[]): readonly Element[] {
  const groups = new Map<string, Element>()
  for (const { labels, value } of elements) {
    const kept = Object.fromEntries(
      by.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]])),
    )
    const key = keyOf(kept, undefined)
    const before = groups.get(key)?.value
    const added = name === 'sum' ? (before ?? 0) + value : Math.max(before ?? value, value)
    groups.set(key, { labels: kept, value: added })
  }
  return [...groups.values()]
}

const calculations: Readonly<Record<string, (one: number, other: number) => number>> = {
  '+': (one, other) => one + other,
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
  '/': (one, other) => one / other,
}

const comparisons: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  '==': (one, other) => one === other,
  '!=': (one, other) => one !== other,
  '<': (one, other) => one < other,
  '<=': (one, other) => one <= other,
  '>': (one, other) => one > other,
  '>=': (one, other) => one >= other,
}

function combined(
  operator: string,
  left: number | readonly Element[],
  right: number | readonly Element[],
  on: readonly string[] | undefined,
): number | readonly Element[] {
  if (operator === 'or' || operator === 'and' || operator === 'unless') {
    const [one, other] = [elementsOf(left), elementsOf(right)]
    const keys = (elements: readonly Element[]): Set<string> => new Set(elements.map(({ labels }) => keyOf(labels, on)))
    if (operator === 'or') return [...one, ...other.filter(({ labels }) => !keys(one).has(keyOf(labels, on)))]
    return one.filter(({ labels }) => keys(other).has(keyOf(labels, on)) === (operator === 'and'))
  }
  const calculate = calculations[operator]
  const compare = comparisons[operator]
  const outcome = ({ labels, value }: Element, one: number, other: number): Element[] => {
    if (calculate !== undefined) return [{ labels: withoutName(labels), value: calculate(one, other) }]
    return compare?.(one, other) === true ? [{ labels, value }] : []
  }
  if (typeof left === 'number' && typeof right === 'number') return calculate?.(left, right) ?? Number.NaN
  if (typeof right === 'number') return elementsOf(left).flatMap((one) => outcome(one, one.value, right))
  if (typeof left === 'number') return right.flatMap((one) => outcome(one, left, one.value))
  return left.flatMap((one) => {
    const other = right.find(({ labels }) => keyOf(labels, on) === keyOf(one.labels, on))
    return other === undefined ? [] : outcome(one, one.value, other.value)
  })
}

/** Of buckets with their label `le`, interpolated within one. */
function quantiles(quantile: number, buckets: readonly Element[]): readonly Element[] {
  const groups = new Map<string, Element[]>()
  const withoutBound = ({ le: _, ...labels }: Series['labels']): Series['labels'] => withoutName(labels)
  for (const one of buckets) {
    const key = keyOf(withoutBound(one.labels), undefined)
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].flatMap((group) => {
    const bounds = group
      .map(({ labels, value }) => ({
        bound: labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le),
        value,
      }))
      .sort((one, other) => one.bound - other.bound)
    const rank = quantile * (bounds.at(-1)?.value ?? 0)
    const nth = bounds.findIndex(({ value }) => value >= rank)
    const { bound, value } = bounds[nth] as { bound: number; value: number }
    const { bound: lower, value: below } = bounds[nth - 1] ?? { bound: 0, value: 0 }
    const found =
      bound === Number.POSITIVE_INFINITY ? lower : lower + ((bound - lower) * (rank - below)) / (value - below)
    // Without any observation it is not a number, and no comparison holds.
    return [{ labels: withoutBound(group[0]?.labels ?? {}), value: found }]
  })
}

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly forSeconds: number
}

/** When it fires first, evaluated every `step` seconds from 0 to `end`; undefined where it does not. */
export function firesAt(
  { expr, forSeconds }: AlertRule,
  series: readonly Series[],
  step: number,
  end: number,
): number | undefined {
  const evaluation = new Parser(expr, series).all()
  const since = new Map<string, number>()
  for (let at = 0; at <= end; at += step) {
    const active = new Set(elementsOf(evaluation(at)).map(({ labels }) => keyOf(labels, undefined)))
    for (const key of since.keys()) if (!active.has(key)) since.delete(key)
    for (const key of active) {
      if (!since.has(key)) since.set(key, at)
      if (at - (since.get(key) as number) >= forSeconds) return at
    }
  }
  return undefined
}
