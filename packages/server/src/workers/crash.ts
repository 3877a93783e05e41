/** Crashes in native code: detection, the message for the operator, and the limit on their number. */
import { storeDirectory } from '@ashlar/engine/store-address'

/** Signals caused by failures of native code, including failed assertions of LMDB and V8. */
const crashSignals: readonly string[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGXFSZ']
/** The corresponding exit codes on Windows: access violation, in-page error, failed check, abort. */
const crashCodes: readonly number[] = [0xc000_0005, 0xc000_0006, 0xc000_0409, 134]

/** Returns the name of the crash; undefined if the process ended otherwise. */
export function crashOf(code: number | null, signal: string | null): string | undefined {
  if (signal !== null) return crashSignals.includes(signal) ? signal : undefined
  const isCrash = process.platform === 'win32' && code !== null && crashCodes.includes(code)
  return isCrash ? `exit code 0x${code.toString(16)}` : undefined
}

export interface Crashed {
  readonly pid: number | undefined
  /** The name of the crash from `crashOf`. */
  readonly crash: string
  /** Addresses of the LMDB stores that the process had open. */
  readonly stores: readonly string[]
  readonly work: 'serve' | 'copy' | 'verify' | 'compact' | 'backup' | 'restore' | 'security'
  /** The limit of file sizes (ulimit -f), if any; LMDB maps its files beyond their size. */
  readonly fileBytesMax?: number | undefined
}

/** Returns the file size limit of this process and its children; undefined if there is none. */
export function fileBytesMax(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly file_size_blocks?: { readonly soft?: number | 'unlimited' } }
  }
  const bytes = userLimits?.file_size_blocks?.soft
  return typeof bytes === 'number' ? bytes : undefined
}

/** Returns the message for the operator. The cause of a crash is never certain, so the message names a probable one. */
export function crashSentence({ pid, crash, stores, work, fileBytesMax: bytesMax }: Crashed): string {
  const crashed = `Process ${pid} crashed (${crash})`
  if (stores.length === 0) return `${crashed}: native code of Ashlar, or of what it is built on, has failed.`
  if (bytesMax !== undefined)
    return `${crashed} while it had ${stores.join(', ')} open. A file of this process may have at most ${bytesMax} bytes (ulimit -f), and that of a store needs more: raise the limit, and run the command again.`
  const memory = crash === 'SIGABRT' ? 'Unless the lines above say that memory ran out, the' : 'The'
  const file = stores.length === 1 ? 'its data file' : 'the data file of one of them'
  const cause = `${memory} likeliest cause is that ${file} is damaged, though a fault of Ashlar cannot be excluded.`
  const rescue = `restore a backup, or copy what can be read: ashlar copy ${stores[0]} lmdb:<new directory>`
  const check = stores.map((store) => `ashlar verify ${store}`).join(' ; ')
  const first = work === 'serve' ? 'Stop the server and run' : 'Run'
  const advice = work === 'verify' ? `To go on, ${rescue}` : `${first}: ${check} . Where that reports damage, ${rescue}`
  return `${crashed} while it had ${stores.join(', ')} open. ${cause} ${advice}`
}

/** Returns the addresses of stores in files that native code reads. */
export function lmdbStores(addresses: readonly string[]): string[] {
  return addresses.filter((address) => storeDirectory(address) !== undefined)
}

/**
 * Counts crashes within a sliding window. If processes that served at the same time crash before the first of them has been replaced, they share one
 * cause, such as a truncated lock table, and count as one crash.
 */
export class CrashCount<P> {
  private readonly max: number
  private readonly windowMs: number
  private times: readonly number[] = []
  /** Processes that served at the last counted crash; cleared when another process starts to serve. */
  private companions: ReadonlySet<P> = new Set()

  constructor(max: number, windowMs: number) {
    this.max = max
    this.windowMs = windowMs
  }

  /** Returns true for the `max`-th crash within the window. `serving`: the processes that served before it. `nowMs`: monotonic. */
  isTooMany(crashed: P, serving: Iterable<P>, nowMs: number): boolean {
    if (this.companions.has(crashed)) return false
    this.companions = new Set(serving)
    this.times = [...this.times.filter((time) => nowMs - time < this.windowMs), nowMs]
    return this.times.length >= this.max
  }

  /** Call when a worker begins to serve, which separates later crashes from earlier ones. */
  serves(): void {
    this.companions = new Set()
  }
}
