/** Whom the files of a store are for. */
import { chmodSync, statSync } from 'node:fs'
import { storeDirectory } from '@ashlar/engine/store-address'

const ofOthers = 0o077

/** Hashes of passwords are in it: the directory of a store on LMDB becomes its owner's alone. Nothing where it is so, or is somebody else's to change. */
export function closeToOthers(address: string): void {
  const directory = process.platform === 'win32' ? undefined : storeDirectory(address)
  if (directory === undefined) return
  const { mode, uid } = statSync(directory)
  const own = process.getuid?.()
  if ((mode & ofOthers) !== 0 && (own === 0 || own === uid)) chmodSync(directory, mode & 0o7700)
}
