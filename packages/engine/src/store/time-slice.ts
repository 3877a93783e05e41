/** Yields the event loop during long synchronous work, after each slice. */

import { FairQueues } from './fair-queues.ts'
import type { Sequence } from './sequence.ts'
import type { Awaitable } from './store.ts'

const sliceMs = 5
/** Length from the second slice on while requests arrive: each of them waits for the rest of one. */
const sliceDuringRequestsMs = 2
/** Further requests are expected for this long after one. */
const requestsExpectedMs = 50
/** Time for all work that starts in one iteration of the event loop, if each piece ends within its slice and no other work is queued. */
const startBudgetMs = 20
/** Steps of a few microseconds between clock checks. */
export const stepsPerClockCheck = 32
/** Bytes copied or checksummed between clock checks: about a millisecond. */
export const bytesPerClockCheck = 1_048_576
/** Longest delay of the next slice while something arrives occasionally, twice the time of a slice. */
const arrivalsMsMax = 10
/** Longest delay while something arrives in more than every other iteration: a flood of connections is accepted first. */
const floodMsMax = 200
/** Time for arriving requests after a slice of started work; with the overrun of a slice, half of all time. */
const requestsMs = 2 * sliceDuringRequestsMs
/** The next slice starts after this long without a request. A client on another core sends its next one sooner. */
const requestGapMs = 0.3
/** Iterations per arrival: accept the connection, serve it, read its request. */
const iterationsPerArrival = 3

export interface TimeSlice {
  readonly isOver: boolean
  /** For work that cannot yield: throws if it is to be abandoned and run elsewhere. `isLong`: the next step may exceed a slice. */
  abandonIfOver?(isLong?: boolean): void
  /** Undefined while the slice lasts, else a promise that resolves at the next slice. */
  yieldIfDue(): Promise<void> | undefined
  /** Called after a wait in which other work ran: work to be abandoned at the end of the slice starts a new slice. */
  beginAnew?(): void
}

export interface SliceWatch {
  /** Slices alternate between owners, however much work each has; all work without an owner counts as one. */
  readonly owner?: string
  mayContinue?(): Promise<void> | undefined
}

/** `mayContinue` is awaited at the end of each slice but the first two (one may be lost to garbage collection), and may throw to end the work. */
export function openTimeSlice(watch?: SliceWatch, ms = sliceMs): TimeSlice {
  return new Slice(watch, ms)
}

/** For work that waits for replies, such as a database's: the waits do not count. */
export function openSliceOfWork(watch?: SliceWatch, ms = sliceMs): TimeSlice {
  return new SliceOfWork(watch, ms)
}

class Slice implements TimeSlice {
  protected end: number
  private freeSlices = 1
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
    const isFree = this.freeSlices-- > 0
    if (!isFree) await this.watch?.mayContinue?.()
    await queuedSlice(isFree ? second : started, this.watch?.owner)
    this.renew()
  }

  protected renew(): void {
    const now = performance.now()
    this.end = now + (now - lastRequestMs < requestsExpectedMs ? sliceDuringRequestsMs : sliceMs)
  }
}

class SliceOfWork extends Slice {
  private iteration = currentIteration()
  private seen = performance.now()

  override get isOver(): boolean {
    this.excludeWaits()
    return super.isOver
  }

  override yieldIfDue(): Promise<void> | undefined {
    this.excludeWaits()
    return super.yieldIfDue()
  }

  /** A wait before the slice does not count as a wait within it. */
  protected override renew(): void {
    super.renew()
    this.iteration = currentIteration()
    this.seen = performance.now()
  }

  /** If the event loop turn has changed since the last check, the work has waited. */
  private excludeWaits(): void {
    const iteration = currentIteration()
    const now = performance.now()
    if (iteration !== this.iteration) this.end += now - this.seen
    this.iteration = iteration
    this.seen = now
  }
}

let iterationsSeen = 0
let isIterationObserved = false

/** A number that identifies the current iteration of the event loop. */
function currentIteration(): number {
  if (!isIterationObserved) {
    isIterationObserved = true
    setImmediate(() => {
      isIterationObserved = false
      iterationsSeen++
    })
  }
  return iterationsSeen
}

/** Runs `step` for each item, with yields, until one returns false. A step takes microseconds, or returns the bytes it processed. */
export async function inSlices<T>(
  all: Iterable<T>,
  step: (one: T) => Awaitable<unknown>,
  slice: TimeSlice = openTimeSlice(),
): Promise<void> {
  let steps = 0
  let bytes = 0
  // By index: an iterator would allocate an object per step when many kinds of loops share this code.
  const array = Array.isArray(all) ? (all as readonly T[]) : undefined
  const others = array === undefined ? all[Symbol.iterator]() : undefined
  for (let at = 0; array === undefined || at < array.length; at++) {
    const next = others?.next()
    if (next?.done === true) return
    const stepped = step(array === undefined ? (next as IteratorYieldResult<T>).value : (array[at] as T))
    const outcome = stepped instanceof Promise ? await stepped : stepped
    if (outcome === false) return
    if (typeof outcome === 'number') bytes += outcome
    if (++steps < stepsPerClockCheck && bytes < bytesPerClockCheck) continue
    steps = 0
    bytes = 0
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Runs a generator to its result, yielding when due. */
export async function runYielding<T>(steps: Iterator<undefined, T>, slice: TimeSlice = openTimeSlice()): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Like `runYielding`, but synchronous and without a clock check if the work has only one step. */
export function runYieldingIfLong<T>(steps: Iterator<undefined, T>, slice?: TimeSlice): Awaitable<T> {
  const first = steps.next()
  return first.done === true ? first.value : runYielding(steps, slice)
}

export function runToEnd<T>(steps: Iterator<undefined, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Like `inSlices`, in batches, for steps that handle several items better together. */
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
 * One waiting piece of work resumes per event loop turn, so that arriving requests wait for one slice, however much work is active. New work
 * alternates with started work, so that neither starves the other. The second slice, which all work may have, counts as new: if it counted as
 * started, new work could starve older work. Within both kinds, slices alternate between owners: otherwise the only statement of one owner would get
 * a hundredth of the process if another owner has a hundred statements.
 */
const started = new FairQueues<() => void>()
const second = new FairQueues<() => void>()
const fresh: (() => void)[] = []
let isNewNext = false
let isFreshNext = false
let isPumping = false

/** Resolves in an iteration of the event loop in which no other caller resumes. */
function queuedSlice(queue: FairQueues<() => void>, owner = ''): Promise<void> {
  return new Promise((resolve) => {
    queue.add(owner, resolve)
    pump()
  })
}

function pump(): void {
  if (isPumping) return
  isPumping = true
  setImmediate(runNext)
}

let arrivalIterationsLeft = 0

interface Waiting {
  readonly sinceMs: number
  iterations: number
  arrivals: number
}

let waiting: Waiting | undefined

/**
 * Must be called for each connection. Node accepts one per event loop turn: if each turn had a slice, a thousand connections would wait for a
 * thousand slices. So the next slice waits until nothing arrives any more, but only for a moment: otherwise connections that keep arriving, a few
 * hundred a second, would starve all work longer than a slice, and all that queues for its first.
 */
export function noteArrival(): void {
  arrivalIterationsLeft = iterationsPerArrival
  if (waiting !== undefined) waiting.arrivals++
}

function waitsForArrivals(): boolean {
  if (arrivalIterationsLeft === 0) return false
  waiting ??= { sinceMs: performance.now(), iterations: 0, arrivals: 1 }
  waiting.iterations++
  const msMax = waiting.arrivals * 2 > waiting.iterations ? floodMsMax : arrivalsMsMax
  if (performance.now() - waiting.sinceMs >= msMax) return false
  arrivalIterationsLeft--
  return true
}

let lastRequestMs = Number.NEGATIVE_INFINITY
/** Whether the last slice was one of started work. */
let wasStartedWork = false
/** Start of the time for new requests since the last slice of started work. */
let sinceSlice: { readonly ms: number; readonly slices: number } | undefined

/**
 * Must be called for each request. Eight clients that each wait for their reply would have eight requests answered between two slices of a scan,
 * which takes a tenth of that time: so the next slice of started work waits as long as further requests arrive, but not for long.
 */
export function noteRequest(): void {
  if (isPumping) lastRequestMs = performance.now()
}

function runNext(): void {
  wasStartedWork = false
  if (waitsForArrivals()) {
    setImmediate(runNext)
    return
  }
  const now = performance.now()
  sinceSlice ??= { ms: now, slices: slicesUsedUp }
  // Work longer than a slice has then run, and not only short requests.
  const areRequestsNext = now - sinceSlice.ms < requestsMs && slicesUsedUp === sinceSlice.slices
  const hasNothingNew = fresh.length + second.size === 0
  if (areRequestsNext && hasNothingNew && started.size > 0 && now - lastRequestMs < requestGapMs) {
    setImmediate(runNext)
    return
  }
  waiting = undefined
  slicesBeforeArrivals = undefined
  const newRequest = areRequestsNext ? fresh.shift() : undefined
  if (newRequest !== undefined) isNewNext = true
  const next = newRequest ?? nextQueued()
  if (next === undefined) {
    isPumping = false
    return
  }
  next()
  setImmediate(runNext)
}

function nextQueued(): (() => void) | undefined {
  isNewNext = !isNewNext
  return isNewNext ? (nextNew() ?? nextStarted()) : (nextStarted() ?? nextNew())
}

function nextStarted(): (() => void) | undefined {
  sinceSlice = undefined
  wasStartedWork = started.size > 0
  return started.next()
}

function nextNew(): (() => void) | undefined {
  isFreshNext = !isFreshNext
  return isFreshNext ? (fresh.shift() ?? second.next()) : (second.next() ?? fresh.shift())
}

let slicesUsedUp = 0

/** For work that has used up its slice and is abandoned: later work of this iteration waits for another one. */
export function noteSliceUsedUp(): void {
  slicesUsedUp++
}

/**
 * Time for the work that starts in one iteration of the event loop. Sixty lookups that arrive together finish sooner
 * one after the other than with an iteration each. Ends when any work uses up its slice.
 */
class StartBudget {
  private readonly end = performance.now() + (started.size + second.size > 0 ? sliceMs : startBudgetMs)
  private readonly slicesBefore = slicesUsedUp

  get isOver(): boolean {
    return slicesUsedUp > this.slicesBefore || performance.now() >= this.end
  }
}

/** For the current event loop turn; undefined if nothing has started in it. */
let startBudget: StartBudget | undefined

/** Slices used up when the next slice began to wait for arrivals while work was to start; else undefined. */
let slicesBeforeArrivals: number | undefined

/**
 * Whether potentially long work may start now: earlier work of this iteration has left time. While started work waits
 * for arrivals, only one long piece may start, since otherwise none would progress.
 */
export function mayBegin(): boolean {
  // One slice was enough for this iteration; the next one is for new work.
  if (isPumping && wasStartedWork) return false
  if (isPumping && arrivalIterationsLeft > 0) {
    slicesBeforeArrivals ??= slicesUsedUp
    if (slicesUsedUp > slicesBeforeArrivals) return false
  }
  if (startBudget === undefined) {
    startBudget = new StartBudget()
    setImmediate(() => {
      startBudget = undefined
    })
  }
  return !startBudget.isOver
}

/** Resolves when work may start that could not immediately, with whether time is left for more. */
export async function awaitStart(): Promise<{ readonly isOver: boolean }> {
  await new Promise<void>((resolve) => {
    fresh.push(resolve)
    pump()
  })
  return new StartBudget()
}

/** Queues a piece known to be long among started work, so that new and possibly short work proceeds. */
export function yieldToNewWork(): Promise<void> {
  return queuedSlice(started)
}
