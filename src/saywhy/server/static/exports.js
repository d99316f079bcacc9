// Explanations as files: a page, data, or a picture.

import { postForBlob } from "./api.js";
import { download, say } from "./dom.js";
import { drawPicture } from "./picture.js";

/** Save finished explanations in one of three forms. */
export async function save(form, explanations, model, told) {
  if (!explanations.length) {
    say("There is nothing to save yet.", "error");
    return;
  }
  const name = `saywhy-${model.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60) || "model"}`;
  try {
    if (form === "json") {
      download(new Blob([`${JSON.stringify(explanations, null, 2)}\n`], { type: "application/json" }), `${name}.json`);
    } else if (form === "html") {
      download(await postForBlob("api/export/html", { explanations }), `${name}.html`);
    } else {
      const canvas = drawPicture(explanations, model, told);
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
      if (!blob) throw new Error("The picture is too large for this browser.");
      download(blob, `${name}.png`);
    }
    say(`Saved as ${form.toUpperCase()}`);
  } catch (error) {
    say(error.message, "error");
  }
}
