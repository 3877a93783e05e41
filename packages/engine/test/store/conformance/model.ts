/** Random commits, scans and snapshots, compared with a plain sorted array. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../../src/bytes/key-space.ts'
import type { Change, Commit, KeyRange, Precondition, Snapshot, Store } from '../../../src/store/store.ts'
import { runs } from '../../bytes/property-runs.ts'
import { bytes, entriesOf, pinnedSnapshot, text, unchangedIn } from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

type Model = readonly (readonly [key: string, value: string])[]

const keyText = fc.string({ unit: fc.constantFrom('\x00', '\x01', 'a', '\xfe', '\xff'), minLength: 1, maxLength: 3 })
/** Of several preconditions, some are of one key. The version of the catalog may be looked at before all other keys, and is left out. */
const expectedKey = fc.oneof(
  keyText.filter((key) => key !== catalogVersionKey.toString('latin1')),
  fc.constantFrom('a', '\x00'),
)
const valueText = fc.string({ unit: fc.constantFrom('x', 'y'), maxLength: 3 })
const bound = fc.option(fc.oneof(keyText, fc.constant('')), { nil: undefined })
const rangeText = fc.record({ from: bound, to: bound })

const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('put' as const), key: keyText, value: valueText }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), key: keyText }) },
)
const precondition = fc.oneof(
  fc.record({ kind: fc.constantFrom('absent' as const, 'present' as const), key: expectedKey }),
  fc.record({ kind: fc.constant('revision' as const), key: expectedKey, prefix: valueText }),
  // Whether `holds` is what the model holds or something random is decided when the commit is made.
  fc.record({ kind: fc.constant('range' as const), range: rangeText, isTrue: fc.boolean(), keys: fc.array(keyText) }),
  fc.record({
    kind: fc.constant('unchanged' as const),
    range: rangeText,
    isTrue: fc.boolean(),
    valueBytes: fc.constantFrom(0, 1, 1_000),
    entries: fc.array(fc.tuple(keyText, valueText), { maxLength: 3 }),
  }),
)
const commit = fc.record({
  changes: fc.uniqueArray(change, { maxLength: 6, selector: ({ key }) => key }),
  preconditions: fc.array(precondition, { maxLength: 3 }),
})
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('commit' as const), commits: fc.array(commit, { maxLength: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('open' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('scan' as const),
      range: rangeText,
      reverse: fc.boolean(),
      keysOnly: fc.boolean(),
      limit: fc.option(fc.nat(5), { nil: undefined }),
      batch: fc.integer({ min: 1, max: 4 }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
type CommitText = typeof commit extends fc.Arbitrary<infer C> ? C : never
type PreconditionText = CommitText['preconditions'][number]
type RangeText = { from: string | undefined; to: string | undefined }

interface World {
  readonly store: Store
  readonly isInOrder: boolean
  model: Model
  readonly open: { snapshot: Snapshot; model: Model }[]
}

/** Of two preconditions that do not hold, a changed range comes first: it is the one that is named. */
const rangeBeforeKey: Step = {
  do: 'commit',
  commits: [
    {
      changes: [],
      preconditions: [
        {
          kind: 'unchanged',
          range: { from: '\xff\x00', to: undefined },
          isTrue: false,
          valueBytes: 0,
          entries: [['\x00', '']],
        },
        { kind: 'present', key: 'a' },
      ],
    },
  ],
}

export function modelRules(driver: Driver): void {
  it('behaves like a sorted array under random commits, scans and snapshots', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
      useStore(driver, async (store) => {
        const world: World = { store, isInOrder: driver.isInOrder === true, model: [], open: [] }
        world.open.push({ snapshot: await pinnedSnapshot(store), model: [] })
        for (const next of steps) await take(next, world)
        for (const { snapshot, model } of world.open) {
          await compare(snapshot, model, { from: undefined, to: undefined })
          snapshot.release()
        }
      }),
    )
    await fc.assert(property, { ...runs(driver.isCostly === true ? 10 : 40), examples: [[[rangeBeforeKey]]] })
  })
}

async function take(next: Step, world: World): Promise<void> {
  switch (next.do) {
    case 'commit':
      return commitAll(next.commits, world)
    case 'open':
      world.open.push({ snapshot: await pinnedSnapshot(world.store), model: world.model })
      return
    case 'release':
      if (world.open.length > 1) world.open.shift()!.snapshot.release()
      return
    case 'scan': {
      const { reverse, keysOnly, batch } = next
      const options = { reverse, keysOnly, batch, ...(next.limit === undefined ? {} : { limit: next.limit }) }
      for (const { snapshot, model } of world.open) await compare(snapshot, model, next.range, options)
    }
  }
}

/** Sends them at once where the store keeps their order, and expects what the model answers in that order. */
async function commitAll(commits: readonly CommitText[], world: World): Promise<void> {
  const sent: Promise<unknown>[] = []
  const answers: unknown[] = []
  for (const text of commits) {
    const wanted = commitFrom(text, world.model)
    sent.push(world.store.commit(wanted))
    const failed = [...wanted.preconditions].find((precondition, position) => {
      return !modelHolds(world.model, text.preconditions[position]!, precondition)
    })
    if (failed === undefined) world.model = text.changes.reduce(changed, world.model)
    answers.push(failed === undefined ? { isCommitted: true } : { isCommitted: false, failed })
    if (!world.isInOrder) await sent.at(-1)
  }
  expect(await Promise.all(sent)).toEqual(answers)
}

function commitFrom(source: CommitText, model: Model): Commit {
  const changes = source.changes.map((change): Change => {
    const key = bytes(change.key)
    return change.kind === 'put' ? { kind: 'put', key, value: bytes(change.value) } : { kind: 'delete', key }
  })
  return { changes, preconditions: source.preconditions.map((expected) => preconditionFrom(expected, model)) }
}

function preconditionFrom(source: PreconditionText, model: Model): Precondition {
  if (source.kind === 'revision') return { kind: 'revision', key: bytes(source.key), prefix: bytes(source.prefix) }
  if (source.kind === 'unchanged') {
    const entries = source.isTrue ? within(model, source.range) : source.entries
    const texts = entries.map(([key, value]) => `${key}=${value}`)
    return unchangedIn(rangeFrom(source.range), texts, source.valueBytes)
  }
  if (source.kind !== 'range') return { kind: source.kind, key: bytes(source.key) }
  const keys = source.isTrue ? within(model, source.range).map(([key]) => key) : source.keys
  return { kind: 'range', range: rangeFrom(source.range), keys: keys.map(bytes), rangeLockKey: bytes('guard') }
}

function modelHolds(model: Model, source: PreconditionText, sent: Precondition): boolean {
  if (source.kind === 'range') {
    const keys = within(model, source.range).map(([key]) => key)
    return sent.kind === 'range' && JSON.stringify(keys) === JSON.stringify(sent.keys.map(text))
  }
  if (source.kind === 'unchanged') {
    const { valueBytes } = source
    const seen = (entries: Model): string =>
      JSON.stringify(entries.map(([key, value]) => [key, valueBytes > 0 && [value.length, value.slice(0, valueBytes)]]))
    return seen(source.isTrue ? within(model, source.range) : source.entries) === seen(within(model, source.range))
  }
  const value = model.find(([key]) => key === source.key)?.[1]
  if (source.kind === 'revision') return value?.startsWith(source.prefix) ?? false
  return (value === undefined) === (source.kind === 'absent')
}

function changed(model: Model, next: CommitText['changes'][number]): Model {
  const others = model.filter(([key]) => key !== next.key)
  if (next.kind === 'delete') return others
  return [...others, [next.key, next.value] as const].sort(([one], [other]) => (one < other ? -1 : 1))
}

/** Texts of characters below 256 sort as their bytes do. */
function within(model: Model, of: RangeText): Model {
  return model.filter(([key]) => (of.from === undefined || key >= of.from) && (of.to === undefined || key < of.to))
}

function rangeFrom(of: RangeText): KeyRange {
  return {
    ...(of.from === undefined ? {} : { from: bytes(of.from) }),
    ...(of.to === undefined ? {} : { to: bytes(of.to) }),
  }
}

interface CompareOptions {
  readonly reverse?: boolean
  readonly keysOnly?: boolean
  readonly limit?: number
  readonly batch?: number
}

async function compare(snapshot: Snapshot, model: Model, of: RangeText, options: CompareOptions = {}): Promise<void> {
  const inRange = [...within(model, of)]
  if (options.reverse === true) inRange.reverse()
  const wanted = inRange.slice(0, options.limit)
  const entries = wanted.map(([key, value]) => (options.keysOnly === true ? key : `${key}=${value}`))
  expect(await entriesOf(snapshot, rangeFrom(of), options)).toEqual(entries)
  const answer = await snapshot.read(
    model.map(([key]) => bytes(key)),
    [{ ...rangeFrom(of), ...options }],
  )
  expect(answer.values.map((value) => value && text(value))).toEqual(model.map(([, value]) => value))
  expect(answer.ranges[0]!.map((entry) => text(entry.key))).toEqual(wanted.map(([key]) => key))
}
