/** What the adapters share: what a model reads about the tool, and which pictures it sees. */

import type { ExecResult, Image } from "../result.js";
import type { ExecOptions } from "../session.js";

export const NAME = "run_code";

/** As in the Python client. */
export const DESCRIPTION =
  "Executes Python code as in a cell of a notebook, and returns what it printed, the value of its last expression, " +
  "errors and pictures. Variables, imports and functions stay for later calls. The code becomes a block of a " +
  "program: begin it with `# %% NAME`, and send it again under that name to correct it. Blocks that depend on it " +
  "then run again by themselves, so that results always equal a run of the whole program from the top.";

/** Describes the argument of the tool. */
export const CODE = "the code; the value of its last expression is returned";

export interface AdapterOptions extends Omit<ExecOptions, "replace" | "append" | "signal"> {
  /** false: the model gets the text alone, which names the files of pictures. */
  pictures?: boolean | undefined;
  /** What the model reads about the tool, if the code is not Python. */
  description?: string | undefined;
}

// Kinds of pictures that models take, and how many a result has at most, with how many bytes together.
const MEDIA = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PICTURES = 4;
const BYTES = 700_000;

/** The pictures to show a model. The text of the result names the files of all of them. */
export function pictures(result: ExecResult): { image: Image; base64: string }[] {
  const shown = [];
  let room = BYTES;
  for (const image of result.images) {
    if (!MEDIA.includes(image.media) || shown.length === PICTURES) continue;
    const data = content(image);
    if (!data || data.length > room) continue;
    shown.push({ image, base64: data.toString("base64") });
    room -= data.length;
  }
  return shown;
}

/** What a picture's file holds; undefined if it is gone: a conversation may be older than the files of its store. */
function content(image: Image): Buffer | undefined {
  try {
    return image.data;
  } catch {
    return undefined;
  }
}
