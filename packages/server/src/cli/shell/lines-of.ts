/** Lines of a stream of bytes in UTF-8, as they come. */
import { CommandError, invalidInput } from '../command-error.ts'
import { unreadable } from '../unreadable.ts'
import { textCharactersMax } from './statement-reader.ts'

/** `what`: for messages. Throws CommandError for what cannot be read, is not UTF-8, or is one endless line. */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  what: string,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  // A line may come in many pieces: they are joined once.
  let begun: string[] = []
  let characters = 0
  try {
    for await (const chunk of stream) {
      const [end = '', ...starts] = decoder.decode(chunk, { stream: true }).split('\n')
      begun.push(end)
      characters += end.length
      for (const start of starts) {
        yield begun.join('').replace(/\r$/, '')
        begun = [start]
        characters = start.length
      }
      if (characters > textCharactersMax) {
        throw invalidInput(`${what} has a line of more than ${textCharactersMax} characters.`)
      }
    }
    begun.push(decoder.decode())
  } catch (error) {
    if (error instanceof CommandError) throw error
    if (error instanceof TypeError) throw invalidInput(`${what} is not UTF-8.`)
    throw unreadable(what, error)
  }
  const last = begun.join('')
  if (last !== '') yield last
}
