/** Damages the file of a store that is closed, as a failing disk would. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Damage {
  /** Of the bytes sought. */
  readonly at: number
  readonly bit?: number
}

/** Flips one bit wherever the bytes stand in the file, earlier versions of their page included. Throws where they are not there. */
export function flipBit(directory: string, sought: Uint8Array | string, { at, bit = 0 }: Damage): void {
  const path = join(directory, 'data.mdb')
  const file = readFileSync(path)
  const bytes = Buffer.from(sought as string)
  let found = file.indexOf(bytes)
  if (found < 0) throw new Error(`the file has no ${bytes.toString('latin1')}`)
  for (; found >= 0; found = file.indexOf(bytes, found + bytes.length)) {
    file[found + at] = (file[found + at] as number) ^ (1 << bit)
  }
  writeFileSync(path, file)
}
