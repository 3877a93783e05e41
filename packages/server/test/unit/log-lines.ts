/** The lines of a server's log, which a test waits for: what they tell is written after the client has heard of it, or without one. */
type LogLine = Record<string, unknown>

export class LogLines {
  readonly all: LogLine[] = []
  private readonly waiting = new Set<(line: LogLine) => void>()

  /** For `openServer`. */
  readonly take = (text: string): void => {
    const line: LogLine = JSON.parse(text)
    this.all.push(line)
    for (const look of this.waiting) look(line)
  }

  /** The first that has this message, or one that matches, once it is there. */
  async withMessage(message: string | RegExp): Promise<LogLine> {
    const isIt = ({ msg }: LogLine): boolean =>
      typeof message === 'string' ? msg === message : message.test(String(msg))
    const found = this.all.find(isIt)
    if (found !== undefined) return found
    return new Promise((resolve) => {
      const look = (line: LogLine): void => {
        if (!isIt(line)) return
        this.waiting.delete(look)
        resolve(line)
      }
      this.waiting.add(look)
    })
  }
}
