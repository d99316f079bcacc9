// Reports of studies and overviews, each in a frame that can reach nothing.

import { get } from "./api.js";
import { byId, el, replace } from "./dom.js";

/** List the reports; the first is opened. */
export async function showReports() {
  const box = byId("view-reports");
  replace(box, el("div", { class: "skeleton" }, el("i"), el("i")));
  let reports;
  try {
    ({ reports } = await get("api/reports"));
  } catch (error) {
    replace(box, el("p", { class: "failed" }, error.message));
    return;
  }
  if (!reports.length) {
    replace(box, el("div", { class: "empty" }, el("h2", null, "No reports here yet"),
      el("p", null, "Start the server with ", el("code", null, "--reports FOLDER"), " to browse the pages of studies, evaluations and audits.")));
    return;
  }
  const frame = el("iframe", { class: "frame", title: "Report", sandbox: "allow-scripts", referrerPolicy: "no-referrer" });
  const open = el("a", { class: "quiet", target: "_blank", rel: "noopener noreferrer" }, "Open alone");
  const items = reports.map((report) => el("button", {
    type: "button", class: "report", on: { click: () => choose(report) }, data: { name: report.name },
  }, el("b", null, report.title || report.name), el("small", null, [report.kind === "other" ? "" : report.kind, report.name].filter(Boolean).join(" · "))));
  const choose = (report) => {
    frame.src = local(report.url);
    frame.title = report.title || report.name;
    open.href = local(report.url);
    items.forEach((item, i) => item.setAttribute("aria-current", String(reports[i] === report)));
  };
  replace(box, el("div", { class: "reports" },
    el("nav", { class: "report-list", "aria-label": "Reports" }, items), el("div", { class: "frame-box" }, el("p", { class: "frame-tools" }, open), frame)));
  choose(reports[0]);
}

/** Only addresses of this server's reports folder. */
function local(address) {
  const full = new URL(address.replace(/^\//, ""), document.baseURI);
  return full.origin === location.origin && full.pathname.includes("/reports/") ? full.href : "about:blank";
}
