// An engine that loads and then traps at the first line that it is given: as small as WebAssembly gets.
const I32 = 0x7f
const I64 = 0x7e
const TRAP = [0x00]
const answer = number => [0x41, ...leb(number)]
const answer64 = number => [0x42, ...leb(number)]

const functions = [
  { name: 'start', takes: [], gives: [I32], body: answer(1) },
  { name: 'alloc', takes: [I32], gives: [I32], body: answer(1024) },
  { name: 'free', takes: [I32, I32], gives: [], body: [] },
  { name: 'history_new', takes: [], gives: [I32], body: answer(1) },
  { name: 'history_line', takes: [I32, I32, I32], gives: [I64], body: TRAP },
  { name: 'history_free', takes: [I32], gives: [], body: [] },
  { name: 'replay', takes: [I32, I32], gives: [I64], body: TRAP },
  { name: 'classify', takes: [I32, I32], gives: [I64], body: TRAP },
  { name: 'trap_place', takes: [], gives: [I64], body: answer64(0) },
]

/** Its bytes. */
export function trapping() {
  const types = functions.map(one => [0x60, ...list(one.takes.map(type => [type])), ...list(one.gives.map(type => [type]))])
  const exported = functions.map((one, at) => [...text(one.name), 0x00, ...leb(at)])
  exported.push([...text('memory'), 0x02, 0x00])
  const bodies = functions.map(one => {
    const code = [0x00, ...one.body, 0x0b]
    return [...leb(code.length), ...code]
  })
  return new Uint8Array([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
    ...section(1, list(types)),
    ...section(3, list(functions.map((_, at) => leb(at)))),
    ...section(5, list([[0x00, 0x02]])),
    ...section(7, list(exported)),
    ...section(10, list(bodies)),
  ])
}

function section(id, bytes) {
  return [id, ...leb(bytes.length), ...bytes]
}

function list(items) {
  return [...leb(items.length), ...items.flat()]
}

function text(word) {
  const bytes = [...new TextEncoder().encode(word)]
  return [...leb(bytes.length), ...bytes]
}

/** LEB128, which is signed in constants: all numbers here are small enough to be the same in both, given one more byte. */
function leb(number) {
  const bytes = []
  do {
    const part = number & 0x7f
    number >>>= 7
    bytes.push(number > 0 || part > 0x3f ? part | 0x80 : part)
    if (number === 0 && part > 0x3f) bytes.push(0)
  } while (number > 0)
  return bytes
}
