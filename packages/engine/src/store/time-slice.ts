/** Yields the event loop during long synchronous work, after each slice. */

import { FairQueues } from './fair-queues.ts'
import type { Sequence } from './sequence.ts'
import type { Awaitable } from './store.ts'

/** How long work goes on before it lets others have their turn. */
const sliceMs = 5
/** The same, from its second slice on, while requests come: each of them waits for what is left of one. */
const sliceBesideRequestsMs = 2
/** So long after a request further ones are expected. */
const requestsExpectedMs = 50
/** How long what begins in one turn takes together at most, where each piece of it ends within its slice and nothing else waits for a turn. */
const beginningsMs = 20
/** Steps of a few microseconds between two looks at the clock. */
export const stepsBetweenLooks = 32
/** Bytes that steps copy or sum up between two looks: about a millisecond's worth. */
export const bytesBetweenLooks = 1_048_576
/** How long the next slice waits at most while something arrives now and then: others have twice as much time as slices. */
const arrivalsMsMax = 10
/** The same while something arrives in more than every other turn: a flood of connections passes before much else is done. */
const floodMsMax = 200
/** After a slice of work that has begun, requests that keep coming have so much time: with what a slice takes beyond its end, half of it all. */
const requestsMs = 2 * sliceBesideRequestsMs
/** No more come: after so long without one, the next slice begins. A client on another core sends its next request sooner. */
const requestGapMs = 0.3
/** Turns that pass after each arrival: in one a connection is accepted, in the next served, in the one after that its request is read. */
const turnsOfAnArrival = 3

export interface TimeSlice {
  readonly isOver: boolean
  /** For work that cannot yield. Throws if the work is to be abandoned, and done elsewhere. `isLong`: what comes next may take longer than a slice. */
  abandonIfOver?(isLong?: boolean): void
  /** Undefined while the slice lasts, else a promise that resolves when the work has its next turn. */
  yieldIfDue(): Promise<void> | undefined
}

/** Whoever lets work go on. */
export interface SliceWatch {
  /** Whose work it is: turns alternate between owners, however much work one of them has. Without one it is one of those that have none. */
  readonly owner?: string
  mayGoOn?(): Promise<void> | undefined
}

/**
 * `mayGoOn`: waited for at the end of each slice but the first two, before the work queues for its next turn; it may throw, and so end the
 * work. Two, since something else, such as garbage collection, may use up one slice.
 */
export function openTimeSlice(watch?: SliceWatch, ms = sliceMs): TimeSlice {
  return new Slice(watch, ms)
}

/** The same for work that waits for replies of others, as of a database: that time is not part of the slice. */
export function openSliceOfWork(watch?: SliceWatch, ms = sliceMs): TimeSlice {
  return new SliceOfWork(watch, ms)
}

class Slice implements TimeSlice {
  protected end: number
  private freeTurns = 1
  private readonly watch: SliceWatch | undefined

  constructor(watch: SliceWatch | undefined, ms: number) {
    this.watch = watch
    this.end = performance.now() + ms
  }

  get isOver(): boolean {
    return performance.now() >= this.end
  }

  yieldIfDue(): Promise<void> | undefined {
    return performance.now() < this.end ? undefined : this.nextSlice()
  }

  private async nextSlice(): Promise<void> {
    slicesUsedUp++
    const isFree = this.freeTurns-- > 0
    if (!isFree) await this.watch?.mayGoOn?.()
    await nextTurn(isFree ? second : begun, this.watch?.owner)
    this.renew()
  }

  protected renew(): void {
    const now = performance.now()
    this.end = now + (now - lastRequestMs < requestsExpectedMs ? sliceBesideRequestsMs : sliceMs)
  }
}

class SliceOfWork extends Slice {
  private turn = presentTurn()
  private seen = performance.now()

  override get isOver(): boolean {
    this.leaveOutWaits()
    return super.isOver
  }

  override yieldIfDue(): Promise<void> | undefined {
    this.leaveOutWaits()
    return super.yieldIfDue()
  }

  /** It has waited for its turn before the slice, and not within it. */
  protected override renew(): void {
    super.renew()
    this.turn = presentTurn()
    this.seen = performance.now()
  }

  /** In another turn of the event loop than at the last look, it has waited. */
  private leaveOutWaits(): void {
    const turn = presentTurn()
    const now = performance.now()
    if (turn !== this.turn) this.end += now - this.seen
    this.turn = turn
    this.seen = now
  }
}

let turnsLookedAt = 0
let isTurnToEnd = false

/** A number that turns of the event loop have in which somebody asks for it, each another. */
function presentTurn(): number {
  if (!isTurnToEnd) {
    isTurnToEnd = true
    setImmediate(() => {
      isTurnToEnd = false
      turnsLookedAt++
    })
  }
  return turnsLookedAt
}

/**
 * Takes a step for one after the other, with turns for others in between, until one returns false. A step takes some microseconds of its own,
 * unless it returns how many bytes it has worked on; where it waits, it is waited for.
 */
export async function inSlices<T>(
  all: Iterable<T>,
  step: (one: T) => Awaitable<unknown>,
  slice: TimeSlice = openTimeSlice(),
): Promise<void> {
  let steps = 0
  let bytes = 0
  // By position in an array: an iterator makes an object a step where loops of many kinds share it.
  const array = Array.isArray(all) ? (all as readonly T[]) : undefined
  const others = array === undefined ? all[Symbol.iterator]() : undefined
  for (let at = 0; array === undefined || at < array.length; at++) {
    const next = others?.next()
    if (next?.done === true) return
    const stepped = step(array === undefined ? (next as IteratorYieldResult<T>).value : (array[at] as T))
    const told = stepped instanceof Promise ? await stepped : stepped
    if (told === false) return
    if (typeof told === 'number') bytes += told
    if (++steps < stepsBetweenLooks && bytes < bytesBetweenLooks) continue
    steps = 0
    bytes = 0
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Work that yields now and then, where others may have their turn; to its result. */
export async function inTurns<T>(pieces: Iterator<undefined, T>, slice: TimeSlice = openTimeSlice()): Promise<T> {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** The same, with the result itself, and no look at the clock, where the work has one piece only. */
export function inTurnsIfLong<T>(pieces: Iterator<undefined, T>, slice?: TimeSlice): Awaitable<T> {
  const first = pieces.next()
  return first.done === true ? first.value : inTurns(pieces, slice)
}

/** The same where nobody can have a turn in between. */
export function atOnce<T>(pieces: Iterator<undefined, T>): T {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
  }
}

/** As `inSlices`, in parts of so many, for steps that are of more use for several at once. */
export async function inParts<T>(
  all: Sequence<T>,
  partSize: number,
  step: (part: readonly T[]) => Awaitable<unknown>,
): Promise<void> {
  if (all.length <= partSize) {
    await step(Array.isArray(all) ? all : [...all])
    return
  }
  const slice = openTimeSlice()
  for (const part of partsOf(all, partSize)) {
    await step(part)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

function* partsOf<T>(all: Sequence<T>, partSize: number): Generator<readonly T[]> {
  if (Array.isArray(all)) {
    for (let at = 0; at < all.length; at += partSize) yield all.slice(at, at + partSize)
    return
  }
  let part: T[] = []
  for (const one of all) {
    part.push(one)
    if (part.length < partSize) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

/*
 * In one turn of the event loop one of those who wait goes on, and so requests that arrive meanwhile wait for one slice, however many work
 * at the same time. New work alternates with what has begun: neither keeps the other from getting on. The second slice that all work may have
 * counts as new: were it one of those that have begun, as much new work as comes would leave these none. Of both kinds each owner has its turn: one that
 * has a hundred statements would else leave the only one of another a hundredth of the process.
 */
const begun = new FairQueues<() => void>()
const second = new FairQueues<() => void>()
const fresh: (() => void)[] = []
let isNewNext = false
let isFreshNext = false
let isPumping = false

/** Resolves in a turn of the event loop in which nobody else of those who call this goes on. */
function nextTurn(queue: FairQueues<() => void>, owner = ''): Promise<void> {
  return new Promise((resolve) => {
    queue.add(owner, resolve)
    pump()
  })
}

function pump(): void {
  if (isPumping) return
  isPumping = true
  setImmediate(giveTurn)
}

let arrivalTurnsLeft = 0

/** While the next slice waits for what arrives. */
interface Waiting {
  readonly sinceMs: number
  turns: number
  arrivals: number
}

let waiting: Waiting | undefined

/**
 * To be called for each connection. Node accepts one in a turn of the event loop: if each turn had a slice, a thousand connections would wait
 * for a thousand slices. So the next slice waits until nothing arrives any more, but only for a moment: connections that never cease to arrive,
 * a few hundred a second, would else keep all work that is longer than a slice, and all that has to queue for its first, from getting on.
 */
export function noteArrival(): void {
  arrivalTurnsLeft = turnsOfAnArrival
  if (waiting !== undefined) waiting.arrivals++
}

function isForArrivals(): boolean {
  if (arrivalTurnsLeft === 0) return false
  waiting ??= { sinceMs: performance.now(), turns: 0, arrivals: 1 }
  waiting.turns++
  const msMax = waiting.arrivals * 2 > waiting.turns ? floodMsMax : arrivalsMsMax
  if (performance.now() - waiting.sinceMs >= msMax) return false
  arrivalTurnsLeft--
  return true
}

let lastRequestMs = Number.NEGATIVE_INFINITY
/** The last turn was one of work that has begun. */
let wasOfBegun = false
/** Since the last slice of work that had begun was over, what requests begin has had its time. */
let sinceSlice: { readonly ms: number; readonly slices: number } | undefined

/**
 * To be called for each request. Eight clients that each wait for their reply would have eight requests answered between two slices of a scan, in a
 * tenth of its time: so the next slice of work that has begun waits as long as further requests come, but not for long.
 */
export function noteRequest(): void {
  if (isPumping) lastRequestMs = performance.now()
}

function giveTurn(): void {
  wasOfBegun = false
  if (isForArrivals()) {
    setImmediate(giveTurn)
    return
  }
  const now = performance.now()
  sinceSlice ??= { ms: now, slices: slicesUsedUp }
  // What is longer than a slice, and not only short requests, has had its turn then.
  const areRequestsNext = now - sinceSlice.ms < requestsMs && slicesUsedUp === sinceSlice.slices
  const isNothingNew = fresh.length + second.size === 0
  if (areRequestsNext && isNothingNew && begun.size > 0 && now - lastRequestMs < requestGapMs) {
    setImmediate(giveTurn)
    return
  }
  waiting = undefined
  slicesBeforeArrivals = undefined
  const ofRequests = areRequestsNext ? fresh.shift() : undefined
  if (ofRequests !== undefined) isNewNext = true
  const next = ofRequests ?? nextInTurn()
  if (next === undefined) {
    isPumping = false
    return
  }
  next()
  setImmediate(giveTurn)
}

function nextInTurn(): (() => void) | undefined {
  isNewNext = !isNewNext
  return isNewNext ? (nextNew() ?? begunNext()) : (begunNext() ?? nextNew())
}

function begunNext(): (() => void) | undefined {
  sinceSlice = undefined
  wasOfBegun = begun.size > 0
  return begun.next()
}

function nextNew(): (() => void) | undefined {
  isFreshNext = !isFreshNext
  return isFreshNext ? (fresh.shift() ?? second.next()) : (second.next() ?? fresh.shift())
}

let slicesUsedUp = 0

/** To be called for work that has used up its slice and is abandoned: what has begun in the same turn of the event loop waits for another one. */
export function noteSliceUsedUp(): void {
  slicesUsedUp++
}

/**
 * The time for what begins in one turn of the event loop. Short work needs no turns: sixty lookups that have arrived together are done one after
 * the other sooner than each after a turn of its own, for which it would have to be kept. It is over as soon as any work has used its slice up.
 */
class Beginnings {
  private readonly end = performance.now() + (begun.size + second.size > 0 ? sliceMs : beginningsMs)
  private readonly slicesBefore = slicesUsedUp

  get isOver(): boolean {
    return slicesUsedUp > this.slicesBefore || performance.now() >= this.end
  }
}

/** Of the present turn of the event loop; undefined where nothing has begun. */
let beginnings: Beginnings | undefined

/** Slices used up when the next slice began to wait for what arrives and something was to begin; undefined where that is not so. */
let slicesBeforeArrivals: number | undefined

/**
 * Whether work that may be long may begin at once: what has begun in the same turn of the event loop has left time for more. While what
 * has begun waits for something to have arrived, no more than one that is long: as much would begin as arrives, and none of it get on.
 */
export function mayBegin(): boolean {
  // A slice was enough for this turn; the next one is of what is new.
  if (isPumping && wasOfBegun) return false
  if (isPumping && arrivalTurnsLeft > 0) {
    slicesBeforeArrivals ??= slicesUsedUp
    if (slicesUsedUp > slicesBeforeArrivals) return false
  }
  if (beginnings === undefined) {
    beginnings = new Beginnings()
    setImmediate(() => {
      beginnings = undefined
    })
  }
  return !beginnings.isOver
}

/** The turn in which work may begin that may not at once: what is resolved with tells whether there is time for more. */
export async function firstTurn(): Promise<{ readonly isOver: boolean }> {
  await new Promise<void>((resolve) => {
    fresh.push(resolve)
    pump()
  })
  return new Beginnings()
}

/** Resolves among the turns of work that has begun, for a piece that is known to be long: what is new, and may be short, goes on beside it. */
export function laterTurn(): Promise<void> {
  return nextTurn(begun)
}
