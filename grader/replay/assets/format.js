// Numbers and names as text.

const view = new DataView(new ArrayBuffer(8));

function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return Object.is(value, -0) ? "-0" : String(value);
  return String(Number(value.toPrecision(6)));
}

function half(raw) {
  const exponent = raw >> 10 & 31, fraction = raw & 1023, sign = raw & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * fraction / 1024);
}

// What the bits of a register or of a word of memory mean.
function decoded(raw, kind, size, addressNames) {
  if (raw === null) return "not set";
  const bigs = BigInt(raw);
  const word = Number(bigs & 0xffffffffn);
  switch (kind) {
    case "float":
      if (size === 8) { view.setBigUint64(0, bigs); return shown(view.getFloat64(0)); }
      view.setUint32(0, word);
      return shown(view.getFloat32(0));
    case "half": return shown(half(word & 0xffff));
    case "int":
      if (size === 8) return String(BigInt.asIntN(64, bigs));
      return String(size === 1 ? word << 24 >> 24 : size === 2 ? word << 16 >> 16 : word | 0);
    case "unsigned": return String(size === 8 ? bigs : size === 1 ? word & 255 : size === 2 ? word & 65535 : word);
    case "bool": return word & 255 ? "true" : "false";
    case "pointer": return addressNames(bigs) ?? "0x" + bigs.toString(16);
    default: return "…";
  }
}

// The coordinates of an element of a memory.
function coordinates(shape, flat) {
  const at = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    at.unshift(axis === 0 ? Math.floor(flat) : flat % shape[axis]);
    flat = Math.floor(flat / shape[axis]);
  }
  return at;
}

function elementName(memory, flat) {
  const size = memory.shape.reduce((a, b) => a * b, 1);
  if (flat < 0 || flat >= size) return `${memory.name}[${flat}], outside`;
  return memory.shape.length ? `${memory.name}[${coordinates(memory.shape, flat).join(", ")}]` : memory.name;
}

function threadName(data, thread) {
  const [x, y] = data.block_size;
  return `(${thread % x}, ${Math.floor(thread / x) % y}, ${Math.floor(thread / x / y)})`;
}

const bytesOf = dtype => ({ f64: 8, i64: 8, f32: 4, i32: 4, f16: 2, bf16: 2, u8: 1 })[dtype];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") element.addEventListener("click", value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null));
  return element;
}
