/** Limits the memory held by the requests of one caller, and of one connection (contract 1.5.21). */
import type { MemoryHolder } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import type { Limits } from '../limits.ts'

type ShareLimits = Pick<Limits, 'statementsBytesMax' | 'memoryPercentPerCallerMax' | 'memoryPercentPerConnectionMax'>

interface Share {
  bytes: number
}

/** A share is a percentage of the memory that other callers leave, so that the next caller always gets some. */
export class MemoryShares {
  private readonly limits: ShareLimits
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

  /** `own`: bytes already held by the request. Throws TooManyRequests, and then takes nothing. */
  take(caller: string, connection: object, bytes: number, own: number): void {
    const { memoryPercentPerCallerMax, memoryPercentPerConnectionMax } = this.limits
    const callerShare = this.callers.get(caller) ?? { bytes: 0 }
    const connectionShare = this.connections.get(connection) ?? { bytes: 0 }
    // A single request has only the limits of a request.
    if (callerShare.bytes > own) {
      this.check(callerShare, bytes, memoryPercentPerCallerMax, 'memoryPercentPerCallerMax')
      if (connectionShare.bytes > own)
        this.check(connectionShare, bytes, memoryPercentPerConnectionMax, 'memoryPercentPerConnectionMax')
    }
    this.callers.set(caller, callerShare)
    this.connections.set(connection, connectionShare)
    this.change(caller, connection, bytes)
  }

  change(caller: string, connection: object, bytes: number): void {
    const [callerShare, connectionShare] = [this.callers.get(caller), this.connections.get(connection)]
    if (callerShare === undefined || connectionShare === undefined) return
    this.bytes += bytes
    connectionShare.bytes += bytes
    callerShare.bytes += bytes
    if (callerShare.bytes <= 0) this.callers.delete(caller)
  }

  get size(): number {
    return this.callers.size
  }

  private check(share: Share, bytes: number, percentMax: number, limit: keyof ShareLimits): void {
    if (percentMax >= 100) return
    const left = this.limits.statementsBytesMax - (this.bytes - share.bytes)
    if (share.bytes + bytes <= (left * percentMax) / 100) return
    const whose = limit === 'memoryPercentPerCallerMax' ? 'the caller' : 'the connection'
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
