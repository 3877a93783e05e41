/** Room for what the bodies of all requests under way take together; those for which there is none wait for their turn. */
import { AshlarError } from '@ashlar/engine'
import { ClientDisconnected } from '../errors/request-errors.ts'

interface Waiting {
  readonly body: object
  readonly amount: number
  readonly go: (error?: Error) => void
}

/**
 * What bodies hold of something, and those that wait for room, in the order in which they came. The eldest body is always let in, lest
 * bodies that are there in part wait for each other: so the bound may be exceeded by one body.
 */
export class BodyRoom {
  private held = 0
  private readonly bodies = new Set<object>()
  private waiting: readonly Waiting[] = []
  private readonly max: number
  private readonly turnMsMax: number
  private readonly refusal: string

  /** `refusal`: the message for those for whom there is no room within `turnMsMax`. */
  constructor(max: number, turnMsMax: number, refusal: string) {
    this.max = max
    this.turnMsMax = turnMsMax
    this.refusal = refusal
  }

  /** What is held now. */
  get taken(): number {
    return this.held
  }

  enter(body: object): void {
    this.bodies.add(body)
  }

  /** `go` is called once there is room, maybe at once; with ServerBusy, and nothing held, where none came in time. */
  take(body: object, amount: number, go: (error?: Error) => void): void {
    if (this.isEldest(body) || (this.waiting.length === 0 && this.held + amount <= this.max)) {
      this.held += amount
      go()
      return
    }
    const timeout = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one !== entry)
      entry.go(new AshlarError('ServerBusy', this.refusal))
      this.admit()
    }, this.turnMsMax)
    const entry: Waiting = {
      body,
      amount,
      go(error) {
        clearTimeout(timeout)
        go(error)
      },
    }
    this.waiting = [...this.waiting, entry]
  }

  /** `amount`: all that it has taken; what it still waits for ends at once with ClientDisconnected, and those behind it go on. */
  leave(body: object, amount: number): void {
    this.bodies.delete(body)
    const left = this.waiting.filter((one) => one.body === body)
    if (left.length > 0) this.waiting = this.waiting.filter((one) => one.body !== body)
    for (const { go } of left) go(new ClientDisconnected())
    this.held -= amount
    this.admit()
  }

  private isEldest(body: object): boolean {
    return this.bodies.values().next().value === body
  }

  private admit(): void {
    for (;;) {
      const [first] = this.waiting
      const next = this.waiting.find(({ body }) => this.isEldest(body)) ?? first
      if (next === undefined) return
      if (!this.isEldest(next.body) && this.held + next.amount > this.max) return
      this.waiting = this.waiting.filter((one) => one !== next)
      this.held += next.amount
      next.go()
    }
  }
}
