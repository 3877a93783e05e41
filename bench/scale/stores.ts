/** Servers with stores of vehicles, each filled when it is first asked for; several curves are measured on them. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ashlar, formsAgain } from '../contenders/ashlar.ts'
import type { Contender, ContenderKind, Place } from '../contenders/contender.ts'
import { blocksOf } from '../contenders/directories.ts'
import { discard, type Filled, fill } from '../parts/fill.ts'
import type { Figures } from '../rows/figures.ts'
import type { Bench } from '../rows/measure.ts'

/** What is known of a store that was kept. */
interface Kept {
  readonly bulk: Figures
  readonly ids: readonly string[]
  next: number
}

export class Stores {
  private readonly filled = new Map<number, Filled>()
  private readonly bench: Bench
  private readonly folder: string | undefined

  /** `folder`: where the stores stay; otherwise they end with the measurement. */
  constructor(bench: Bench, folder: string | undefined) {
    this.bench = bench
    this.folder = folder
  }

  async of(objects: number): Promise<Filled> {
    let found = this.filled.get(objects)
    if (found === undefined) {
      const kind = this.kindOf(objects)
      const note = this.noteOf(String(objects))
      found =
        note !== undefined && existsSync(note)
          ? await this.reopened(kind, objects, note)
          : await fill(this.bench, kind, objects)
      this.filled.set(objects, found)
      this.remember(objects, found)
      process.stderr.write(`(${objects.toLocaleString('en')} objects)`)
    }
    return found
  }

  /** Of a store with other data than vehicles, which stays with them: empty unless `once` has filled it. Undefined where none stays. */
  placeOf(name: string): Place | undefined {
    const note = this.noteOf(name)
    if (note === undefined) return undefined
    const place = this.keptPlace(name)
    if (!existsSync(note)) rmSync(place.address, { recursive: true, force: true })
    mkdirSync(place.address, { recursive: true })
    return place
  }

  /** What `fill` knows of the store that it has filled, now or earlier. */
  async once<T>(name: string, fill: () => Promise<T>): Promise<T> {
    const note = this.noteOf(name)
    if (note !== undefined && existsSync(note)) return JSON.parse(readFileSync(note, 'utf8')) as T
    const known = await fill()
    if (note !== undefined) writeFileSync(note, JSON.stringify(known))
    return known
  }

  async close(): Promise<void> {
    for (const [objects, one] of this.filled) {
      this.remember(objects, one)
      await discard(one.contender)
    }
  }

  private kindOf(objects: number): ContenderKind {
    const kind = ashlar({ name: objects.toLocaleString('en') })
    if (this.folder === undefined) return kind
    return { ...kind, freshPlace: async () => this.placeOf(String(objects)) as Place }
  }

  private keptPlace(name: string): Place {
    const address = join(this.folder ?? '', name)
    return { address, bytes: async () => blocksOf(address), remove: async () => undefined }
  }

  private noteOf(name: string): string | undefined {
    return this.folder === undefined ? undefined : join(this.folder, `${name}.json`)
  }

  private async reopened(kind: ContenderKind, objects: number, note: string): Promise<Filled> {
    const { bulk, ids, next } = JSON.parse(readFileSync(note, 'utf8')) as Kept
    const place = await kind.freshPlace()
    const server = await kind.start(place, this.bench.cores?.server)
    const contender: Contender = { kind, place, forms: await formsAgain(server.url), server, objects, ids, next }
    return { contender, bulk }
  }

  /** Whoever uses the store next creates no vehicle a second time. */
  private remember(objects: number, { contender: { ids, next }, bulk }: Filled): void {
    const note = this.noteOf(String(objects))
    const kept: Kept = { bulk, ids, next }
    if (note !== undefined) writeFileSync(note, JSON.stringify(kept))
  }
}
