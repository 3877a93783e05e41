/** Reads the entries for probes, each once: adjacent probes often need the same one, which may be megabytes. */
import { AshlarError } from '../errors.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { Probe } from './probe.ts'

/** Represents a damaged entry, which is reported when its own key space is scanned. */
export const damaged = Symbol('damaged')

type Found = Bytes | undefined | typeof damaged

export class ProbeReader {
  private readonly snapshot: Snapshot
  /** The result of the first probe of the previous entry: the owner of a link entry, which the next entry mostly shares. */
  private last: { readonly key: string; readonly value: Found } | undefined

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
  }

  /** Returns one value per probe, in order. `probes`: by the entry that imposes them. */
  async read(probes: readonly (readonly Probe[])[]): Promise<Found[]> {
    const keysByText = new Map<string, Buffer>()
    for (const { key } of probes.flat()) keysByText.set(key.toString('latin1'), key)
    const found = new Map<string, Found>()
    if (this.last !== undefined && keysByText.delete(this.last.key)) found.set(this.last.key, this.last.value)
    const values = await this.readKeys([...keysByText.values()])
    for (const [i, text] of [...keysByText.keys()].entries()) found.set(text, values[i])
    const first = probes.at(-1)?.[0]?.key.toString('latin1')
    this.last = first === undefined ? undefined : { key: first, value: found.get(first) }
    return probes.flat().map(({ key }) => found.get(key.toString('latin1')))
  }

  /** Reads them together, or one by one if one is damaged. */
  private async readKeys(keys: readonly Bytes[]): Promise<readonly Found[]> {
    try {
      return (await this.snapshot.read(keys)).values
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    const values: Found[] = []
    for (const key of keys) {
      try {
        values.push((await this.snapshot.read([key])).values[0])
      } catch (error) {
        if (!isDamage(error)) throw error
        values.push(damaged)
      }
    }
    return values
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof AshlarError && error.type === 'DataCorruption'
}
