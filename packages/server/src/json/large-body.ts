/** Parses a large JSON body piece by piece, and yields to other work in between. */
import type { TimeSlice } from '@ashlar/engine'
import { type JsonLayout, type LargeContainer, malformed, type Piece } from './json-layout.ts'
import { LongTexts } from './long-texts.ts'
import { decode, parseText } from './parse-text.ts'

export class LargeBody {
  private readonly body: Uint8Array
  private readonly layout: JsonLayout
  private readonly texts: LongTexts
  private readonly slice: TimeSlice

  /** `textBytesMax`: a text that is longer is read in parts of that many. */
  constructor(body: Uint8Array, layout: JsonLayout, textBytesMax: number, slice: TimeSlice) {
    this.body = body
    this.layout = layout
    this.texts = new LongTexts(body, layout.longTexts, textBytesMax, slice)
    this.slice = slice
  }

  /** Throws MalformedRequest. */
  async read(): Promise<unknown> {
    const { body, layout } = this
    const { root, hasWideNumbers } = layout
    if (root === undefined) {
      const outline = await this.texts.outline(0, body.length)
      return this.texts.fill(parseText(outline, hasWideNumbers))
    }
    this.checkBlank(0, root.from)
    this.checkBlank(root.to, body.length)
    return this.build(root)
  }

  /** Recurses as deep as the limit of levels. */
  private async build({ isArray, pieces }: LargeContainer): Promise<unknown> {
    const elements: unknown[] = []
    const fields: Record<string, unknown> = {}
    for (const piece of pieces) {
      if (piece.kind === 'elements') {
        const part = await this.parseElements(piece, isArray)
        if (Array.isArray(part)) for (const element of part) elements.push(element)
        else for (const [name, value] of Object.entries(part)) setField(fields, name, value)
      } else if (piece.kind === 'child') {
        const name = isArray ? this.checkBlank(piece.from, piece.to) : this.nameBefore(piece)
        const child = await this.build(piece.child)
        if (name === undefined) elements.push(child)
        else setField(fields, name, child)
      } else this.checkBlank(piece.from, piece.to)
      await this.slice.yieldIfDue()
    }
    return isArray ? elements : fields
  }

  /** One element at least. */
  private async parseElements(piece: Elements, isArray: boolean): Promise<readonly unknown[] | object> {
    const { from, to, hasWideNumbers } = piece
    const text = await this.texts.outline(from, to)
    const part = parsePart(isArray ? `[${text}]` : `{${text}}`, piece, hasWideNumbers)
    if (Object.keys(part).length === 0) throw malformedBetween(piece)
    return this.texts.fill(part) as object
  }

  /** Reads the name before the opening bracket of a value. */
  private nameBefore(piece: Piece): string {
    const part = parsePart(`{${decode(this.body.subarray(piece.from, piece.to))}[]}`, piece, false)
    const [name] = Object.keys(part)
    if (name === undefined) throw malformedBetween(piece)
    return name
  }

  private checkBlank(from: number, to: number): undefined {
    if (!blank.test(decode(this.body.subarray(from, to)))) throw malformedBetween({ from, to })
  }
}

type Elements = Extract<Piece, { readonly kind: 'elements' }>

const blank = /^[ \t\n\r]*$/

/** Like any other name: an assignment would take this one for the prototype. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  else fields[name] = value
}

function parsePart(
  text: string,
  piece: { readonly from: number; readonly to: number },
  hasWideNumbers: boolean,
): object {
  try {
    return parseText(text, hasWideNumbers) as object
  } catch {
    throw malformedBetween(piece)
  }
}

function malformedBetween({ from, to }: { readonly from: number; readonly to: number }): Error {
  return malformed(`The body is not JSON: it is not well formed between byte ${from} and byte ${to}.`)
}
