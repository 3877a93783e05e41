/** What the requests of one caller, and of one connection, hold in memory together, and how much that may be (contract 1.5.21). */
import type { MemoryHolder } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import type { Limits } from '../limits.ts'

type ShareLimits = Pick<Limits, 'statementsBytesMax' | 'heldPercentPerCallerMax' | 'heldPercentPerConnectionMax'>

interface Share {
  bytes: number
}

/**
 * A share is a percentage of what other callers leave, so that there is always memory left for the next caller. Two callers together could exhaust a
 * limit in bytes.
 */
export class MemoryShares {
  private readonly limits: ShareLimits
  /** Bytes of all requests. */
  private bytes = 0
  private readonly callers = new Map<string, Share>()
  private readonly connections = new WeakMap<object, Share>()

  constructor(limits: ShareLimits) {
    this.limits = limits
  }

  /** Creates the account of one request. `callerOf`: called on first use, since most requests hold no memory. */
  holder(callerOf: () => string, connection: object): MemoryHolder {
    return new RequestShare(this, callerOf, connection)
  }

  /** `own`: what the request has taken already. Throws TooManyRequests, and takes nothing. */
  take(caller: string, connection: object, bytes: number, own: number): void {
    const { heldPercentPerCallerMax, heldPercentPerConnectionMax } = this.limits
    const ofCaller = this.callers.get(caller) ?? { bytes: 0 }
    const ofConnection = this.connections.get(connection) ?? { bytes: 0 }
    // One request alone has the limits of a request.
    if (ofCaller.bytes > own) {
      this.check(ofCaller, bytes, heldPercentPerCallerMax, 'heldPercentPerCallerMax')
      if (ofConnection.bytes > own)
        this.check(ofConnection, bytes, heldPercentPerConnectionMax, 'heldPercentPerConnectionMax')
    }
    this.callers.set(caller, ofCaller)
    this.connections.set(connection, ofConnection)
    this.change(caller, connection, bytes)
  }

  change(caller: string, connection: object, bytes: number): void {
    const [ofCaller, ofConnection] = [this.callers.get(caller), this.connections.get(connection)]
    if (ofCaller === undefined || ofConnection === undefined) return
    this.bytes += bytes
    ofConnection.bytes += bytes
    ofCaller.bytes += bytes
    if (ofCaller.bytes <= 0) this.callers.delete(caller)
  }

  /** Callers that hold anything. */
  get size(): number {
    return this.callers.size
  }

  private check(share: Share, bytes: number, percentMax: number, limit: keyof ShareLimits): void {
    if (percentMax >= 100) return
    const left = this.limits.statementsBytesMax - (this.bytes - share.bytes)
    if (share.bytes + bytes <= (left * percentMax) / 100) return
    const whose = limit === 'heldPercentPerCallerMax' ? 'the caller' : 'the connection'
    const message = `The requests of ${whose} would hold more than ${percentMax} percent of the memory that others leave (${limit}); memory is released when some of them have ended, and their replies have been read.`
    throw new ServerError('TooManyRequests', message)
  }
}

class RequestShare implements MemoryHolder {
  private readonly shares: MemoryShares
  private readonly callerOf: () => string
  private readonly connection: object
  private caller: string | undefined
  private bytes = 0

  constructor(shares: MemoryShares, callerOf: () => string, connection: object) {
    this.shares = shares
    this.callerOf = callerOf
    this.connection = connection
  }

  take(bytes: number): void {
    this.caller ??= this.callerOf()
    this.shares.take(this.caller, this.connection, bytes, this.bytes)
    this.bytes += bytes
  }

  giveBack(bytes: number): void {
    if (this.caller === undefined) return
    this.bytes -= bytes
    this.shares.change(this.caller, this.connection, -bytes)
  }
}
